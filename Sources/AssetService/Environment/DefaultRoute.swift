internal import LinuxSystem

/// Whether the kernel knows where to send packets for elsewhere.
enum DefaultRoute {
  /// From `route` and `ipv6_route` of a folder like /proc/net (proc_net(5)). True where neither can be read.
  static func exists(in folder: String = "/proc/net") -> Bool {
    let tables = [("route", isDefault4), ("ipv6_route", isDefault6)].compactMap { name, isDefault in
      (try? Files.text(of: "\(folder)/\(name)", limit: 1 << 20)).map { ($0, isDefault) }
    }
    return tables.isEmpty
      || tables.contains { text, isDefault in
        text.split(whereSeparator: \.isNewline).contains { isDefault($0.split(whereSeparator: \.isWhitespace)) }
      }
  }

  private static let isUp: UInt32 = 0x1
  private static let isRejected: UInt32 = 0x200

  /// Interface, destination, gateway, flags, three counters, mask, and more.
  private static func isDefault4(_ fields: [Substring]) -> Bool {
    guard fields.count > 7, fields[1] == "00000000", fields[7] == "00000000" else { return false }
    return isUsable(fields[3])
  }

  /// Destination, its prefix, source, its prefix, next hop, three counters, flags, interface.
  private static func isDefault6(_ fields: [Substring]) -> Bool {
    guard fields.count > 9, fields[0].allSatisfy({ $0 == "0" }), fields[1] == "00", fields[9] != "lo" else {
      return false
    }
    return isUsable(fields[8])
  }

  private static func isUsable(_ flags: Substring) -> Bool {
    guard let flags = UInt32(flags, radix: 16) else { return false }
    return flags & isUp != 0 && flags & isRejected == 0
  }
}
