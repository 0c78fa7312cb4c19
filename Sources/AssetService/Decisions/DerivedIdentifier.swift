/// A UUID (RFC 9562, version 8) that follows from a text: what is asked for twice has one name.
enum DerivedIdentifier {
  static func make(_ text: String) -> String {
    // FNV-1a, two of them with different offsets; nothing here has to resist an attacker.
    func hash(_ offset: UInt64) -> UInt64 {
      var mixed = text.utf8.reduce(offset) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
      mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
      return mixed ^ mixed >> 31
    }
    let high = hash(0xcbf2_9ce4_8422_2325) & 0xffff_ffff_ffff_0fff | 0x8000
    let low = hash(0x8422_2325_cbf2_9ce4) & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    func digits(_ value: UInt64) -> String {
      let text = String(value, radix: 16, uppercase: true)
      return String(repeating: "0", count: 16 - text.count) + text
    }
    let all = digits(high) + digits(low)
    var parts: [Substring] = []
    var rest = all[...]
    for length in [8, 4, 4, 4, 12] {
      parts.append(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
    return parts.joined(separator: "-")
  }
}
