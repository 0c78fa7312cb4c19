internal import Glibc

/// An address that a socket may be opened to.
public enum NetworkAddress: Sendable, Hashable, CustomStringConvertible {
  case v4(UInt32)
  /// 16 bytes; another number of them is no address, and is never allowed.
  case v6([UInt8])

  /// Reads a literal, without brackets and zone.
  public init?(_ text: String) {
    // C would end at a NUL, and read what comes before.
    guard text.utf8.count <= 64, !text.utf8.contains(0) else { return nil }
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

  /// From the highest bit on: 4 or 16 of them.
  var bytes: [UInt8] {
    switch self {
    case .v4(let number): [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    case .v6(let bytes): bytes
    }
  }

  public var description: String {
    guard case .v6(let bytes) = self else { return bytes.map(String.init).joined(separator: ".") }
    guard bytes.count == 16 else { return "?" }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = bytes.withUnsafeBytes { inet_ntop(AF_INET6, $0.baseAddress, &text, socklen_t(text.count)) }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
