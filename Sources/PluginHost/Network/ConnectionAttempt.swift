/// Where a plugin wants to go with a TCP connection.
struct ConnectionAttempt: Equatable {
  /// 4 or 16 bytes.
  var address: [UInt8]
  var port: UInt16

  /// Reads what connect(2) was given, from the plugin's memory. nil: it is no address of either version (ip(7), ipv6(7)).
  init?(socketAddress bytes: [UInt8]) {
    guard bytes.count >= 8 else { return nil }
    port = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    switch UInt16(bytes[1]) << 8 | UInt16(bytes[0]) {
    case 2: address = Array(bytes[4..<8])
    case 10 where bytes.count >= 24:
      let six = Array(bytes[8..<24])
      // ::ffff:1.2.3.4 is connected to as 1.2.3.4.
      let isMapped = six.starts(with: [UInt8](repeating: 0, count: 10) + [0xff, 0xff])
      address = isMapped ? Array(six[12...]) : six
    default: return nil
    }
  }

  /// Reads an IP packet of the run's loopback from its network header on (RFC 791, RFC 8200, RFC 9293): what the kernel sent, not what
  /// the plugin's memory says. nil: it isn't the beginning of a connection.
  init?(packet: ArraySlice<UInt8>) {
    let bytes = Array(packet)
    guard let first = bytes.first else { return nil }
    let header: Int
    switch first >> 4 {
    case 4:
      header = Int(first & 0xf) * 4
      guard header >= 20, bytes.count >= header + 14, bytes[9] == 6 else { return nil }
      address = Array(bytes[16..<20])
    case 6:
      header = 40
      guard bytes.count >= header + 14, bytes[6] == 6 else { return nil }
      address = Array(bytes[24..<40])
    default: return nil
    }
    // SYN without ACK.
    guard bytes[header + 13] & 0x12 == 0x02 else { return nil }
    port = UInt16(bytes[header + 2]) << 8 | UInt16(bytes[header + 3])
  }
}
