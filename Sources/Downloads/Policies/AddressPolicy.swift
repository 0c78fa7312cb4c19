internal import Glibc

/// An address that a socket may be opened to.
public enum NetworkAddress: Sendable, Hashable, CustomStringConvertible {
  case v4(UInt32)
  /// 16 bytes.
  case v6([UInt8])

  /// Reads a literal, without brackets and zone.
  public init?(_ text: String) {
    var v4 = in_addr()
    var v6 = in6_addr()
    if inet_pton(AF_INET, text, &v4) == 1 {
      self = .v4(UInt32(bigEndian: v4.s_addr))
    } else if inet_pton(AF_INET6, text, &v6) == 1 {
      self = .v6(withUnsafeBytes(of: v6) { Array($0) })
    } else {
      return nil
    }
  }

  /// Reads a socket address; nil for another family than the two.
  init?(_ address: UnsafePointer<sockaddr>) {
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      self = .v4(UInt32(bigEndian: UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
    case AF_INET6:
      let v6 = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
      self = .v6(withUnsafeBytes(of: v6) { Array($0) })
    default: return nil
    }
  }

  public var description: String {
    switch self {
    case .v4(let number): "\(number >> 24).\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
    case .v6(var bytes):
      {
        var text = [CChar](repeating: 0, count: 64)
        return inet_ntop(AF_INET6, &bytes, &text, 64) == nil ? "?" : String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
      }()
    }
  }
}

/// Which addresses may be connected to. Judged for every socket, so that a name can't lead elsewhere between two requests.
public struct AddressPolicy: Sendable, Equatable {
  public var allowsLoopback = false
  /// Private, shared, link-local and unique-local networks.
  public var allowsPrivate = false
  /// Addresses that the administrator names.
  public var exceptions: Set<NetworkAddress> = []

  public init() {}

  /// Why an address isn't asked, or nil.
  public func objection(to address: NetworkAddress) -> String? {
    if exceptions.contains(address) { return nil }
    guard let kind = Self.kind(of: address) else { return nil }
    switch kind {
    case .loopback: return allowsLoopback ? nil : "\(address) is this machine itself"
    case .local(let name): return allowsPrivate ? nil : "\(address) is \(name)"
    case .never(let name): return "\(address) is \(name)"
    }
  }

  private enum Kind {
    case loopback
    case local(String)
    case never(String)
  }

  /// nil: an address of the public internet.
  private static func kind(of address: NetworkAddress) -> Kind? {
    switch address {
    case .v4(let number): kind(v4: number)
    case .v6(let bytes): kind(v6: bytes)
    }
  }

  /// The special-purpose registries (RFC 6890 and its successors).
  private static let blocks: [(network: UInt32, length: UInt32, kind: Kind)] = [
    (0x7f00_0000, 8, .loopback), (0x0a00_0000, 8, .local("in a private network")), (0xac10_0000, 12, .local("in a private network")),
    (0xc0a8_0000, 16, .local("in a private network")), (0x6440_0000, 10, .local("in a shared network")),
    (0xa9fe_0000, 16, .local("link-local")), (0xffff_ffff, 32, .never("the broadcast address")), (0x0000_0000, 8, .never("unspecified")),
    (0xc000_0000, 24, .never("reserved")), (0xc000_0200, 24, .never("for documentation")), (0xc633_6400, 24, .never("for documentation")),
    (0xcb00_7100, 24, .never("for documentation")), (0xc612_0000, 15, .never("for benchmarks")), (0xe000_0000, 4, .never("a multicast address")),
    (0xf000_0000, 4, .never("reserved")),
  ]

  private static func kind(v4 number: UInt32) -> Kind? {
    blocks.first { number >> (32 - $0.length) == $0.network >> (32 - $0.length) }?.kind
  }

  private static func kind(v6 bytes: [UInt8]) -> Kind? {
    func embedded(at index: Int) -> UInt32 { bytes[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    func starts(with prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
    let zeros = [UInt8](repeating: 0, count: 10)
    if bytes == zeros + [0, 0, 0, 0, 0, 1] { return .loopback }
    if bytes == zeros + [0, 0, 0, 0, 0, 0] { return .never("unspecified") }
    // Addresses that carry another one are judged by that.
    if starts(with: zeros + [0xff, 0xff]) || starts(with: zeros + [0, 0]) { return kind(v4: embedded(at: 12)) }
    if starts(with: [0x00, 0x64, 0xff, 0x9b, 0x00, 0x01]) { return .local("in a network of its own (NAT64)") }
    if starts(with: [0x00, 0x64, 0xff, 0x9b]) { return kind(v4: embedded(at: 12)) }
    if starts(with: [0x20, 0x02]) { return kind(v4: embedded(at: 2)) }
    if starts(with: [0x20, 0x01, 0x00, 0x00]) { return .never("a Teredo address") }
    if starts(with: [0x20, 0x01, 0x0d, 0xb8]) || starts(with: [0x3f, 0xff]) && bytes[2] < 0x10 { return .never("for documentation") }
    if starts(with: [0x01, 0x00]) && bytes[2..<8].allSatisfy({ $0 == 0 }) { return .never("discarded") }
    if bytes[0] == 0xff { return .never("a multicast address") }
    if bytes[0] == 0xfe, bytes[1] & 0xc0 == 0x80 { return .local("link-local") }
    if bytes[0] == 0xfe, bytes[1] & 0xc0 == 0xc0 { return .local("site-local") }
    if bytes[0] & 0xfe == 0xfc { return .local("in a private network") }
    return nil
  }
}
