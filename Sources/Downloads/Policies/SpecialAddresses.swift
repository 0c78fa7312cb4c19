/// The addresses that aren't of the public internet: IANA's special-purpose registries (RFC 6890 and its successors).
enum SpecialAddresses {
  enum Kind: Equatable {
    case loopback
    /// Networks of the machine's operator: private, shared, link-local, unique-local.
    case local(String)
    case never(String)
  }

  /// nil: an address of the public internet.
  static func kind(of address: NetworkAddress) -> Kind? {
    switch address {
    case .v4(let number): kind(v4: number)
    case .v6(let bytes): kind(v6: bytes)
    }
  }

  private static let v4: [(network: UInt32, length: UInt32, kind: Kind)] = [
    (0x7f00_0000, 8, .loopback), (0x0a00_0000, 8, .local("in a private network")),
    (0xac10_0000, 12, .local("in a private network")), (0xc0a8_0000, 16, .local("in a private network")),
    (0x6440_0000, 10, .local("in a shared network")), (0xa9fe_0000, 16, .local("link-local")),
    (0xffff_ffff, 32, .never("the broadcast address")), (0x0000_0000, 8, .never("unspecified")),
    (0xc000_0000, 24, .never("reserved for protocols")), (0xc000_0200, 24, .never("for documentation")),
    (0xc633_6400, 24, .never("for documentation")), (0xcb00_7100, 24, .never("for documentation")),
    (0xc612_0000, 15, .never("for benchmarks")), (0xc058_6300, 24, .never("a 6to4 relay")),
    (0xe000_0000, 4, .never("a multicast address")), (0xf000_0000, 4, .never("reserved")),
  ]

  private static func kind(v4 number: UInt32) -> Kind? {
    v4.first { number >> (32 - $0.length) == $0.network >> (32 - $0.length) }?.kind
  }

  private static func kind(v6 bytes: [UInt8]) -> Kind? {
    guard bytes.count == 16 else { return .never("no address") }
    let zeros = [UInt8](repeating: 0, count: 10)
    if bytes == zeros + [0, 0, 0, 0, 0, 1] { return .loopback }
    if bytes == zeros + [0, 0, 0, 0, 0, 0] { return .never("unspecified") }
    // Addresses that carry another one are checked by that: mapped, compatible, NAT64 (RFC 6052), 6to4 (RFC 3056).
    if bytes.starts(with: zeros + [0xff, 0xff]) { return kind(v4: number(bytes, at: [12, 13, 14, 15])) }
    if bytes.starts(with: zeros + [0, 0]) { return carried(bytes, at: [12, 13, 14, 15]) }
    if bytes.starts(with: [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]) {
      return carried(bytes, at: [12, 13, 14, 15])
    }
    if bytes.starts(with: [0x00, 0x64, 0xff, 0x9b, 0x00, 0x01]) { return localTranslation(bytes) }
    if bytes.starts(with: [0x20, 0x02]) { return carried(bytes, at: [2, 3, 4, 5]) }
    // Every unicast address that was ever given out is in 2000::/3, so that anything new stays shut.
    if bytes[0] & 0xe0 != 0x20 { return outsideUnicast(bytes) }
    if bytes.starts(with: [0x20, 0x01, 0x00, 0x00]) { return .never("a Teredo address") }
    if bytes.starts(with: [0x20, 0x01]), bytes[2] < 0x02 { return .never("reserved for protocols") }
    if bytes.starts(with: [0x20, 0x01, 0x0d, 0xb8]) || bytes.starts(with: [0x3f, 0xff]) && bytes[2] < 0x10 {
      return .never("for documentation")
    }
    return nil
  }

  private static func outsideUnicast(_ bytes: [UInt8]) -> Kind {
    if bytes[0] == 0xff { return .never("a multicast address") }
    if bytes[0] == 0xfe, bytes[1] & 0xc0 == 0x80 { return .local("link-local") }
    if bytes[0] == 0xfe, bytes[1] & 0xc0 == 0xc0 { return .local("site-local") }
    if bytes[0] & 0xfe == 0xfc { return .local("in a private network") }
    return .never("reserved")
  }

  /// NAT64 with a prefix of the network's own (RFC 8215). Only the network knows how long its prefix is, and so where the
  /// IPv4 address lies (RFC 6052, 2.2): each place is looked at, byte 8 being none of it. Zeros at a place say nothing: one
  /// that isn't used has them.
  private static func localTranslation(_ bytes: [UInt8]) -> Kind? {
    if bytes[6...].allSatisfy({ $0 == 0 }) { return .never("unspecified") }
    for place in [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12]] {
      switch kind(v4: number(bytes, at: place)) {
      case .loopback, .local: return carried(bytes, at: place)
      // What lies across two other fields means nothing.
      case .never, nil: continue
      }
    }
    return bytes[12...].allSatisfy { $0 == 0 } ? nil : carried(bytes, at: [12, 13, 14, 15])
  }

  /// What a tunnel or a translator is told to reach. Its loopback isn't this machine's, so that nothing opens it.
  private static func carried(_ bytes: [UInt8], at place: [Int]) -> Kind? {
    let kind = kind(v4: number(bytes, at: place))
    return kind == .loopback ? .never("another machine's loopback address") : kind
  }

  private static func number(_ bytes: [UInt8], at place: [Int]) -> UInt32 {
    place.reduce(0) { $0 << 8 | UInt32(bytes[$1]) }
  }
}
