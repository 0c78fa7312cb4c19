/// The beginning of a TCP connection, as a packet of the run's loopback shows it: where the plugin wanted to go. What the kernel
/// sent, not what the plugin's memory says.
struct ConnectionAttempt: Equatable {
  /// 4 or 16 bytes.
  var address: [UInt8]
  var port: UInt16

  /// Reads an IP packet from its network header on (RFC 791, RFC 8200, RFC 9293). nil: it isn't such a beginning.
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
