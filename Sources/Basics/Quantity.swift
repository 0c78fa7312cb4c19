/// Sizes and times as people write them: `8MiB`, `512k`, `300ms`, `1.5s`, `2m`.
package enum Quantity {
  /// Bytes. Binary units (KiB, MiB, GiB, or K, M, G) and decimal ones (kB, MB, GB); a bare number is bytes.
  package static func bytes(_ text: String) -> Int? {
    let units: [(String, Double)] = [
      ("kib", 1024), ("mib", 1_048_576), ("gib", 1_073_741_824), ("kb", 1000), ("mb", 1_000_000), ("gb", 1_000_000_000),
      ("k", 1024), ("m", 1_048_576), ("g", 1_073_741_824), ("b", 1), ("", 1),
    ]
    guard let value = scaled(text, units), value >= 1, value < 9e15 else { return nil }
    return Int(value)
  }

  /// A positive time in ns, us, ms, s, m or h; a bare number is seconds.
  package static func duration(_ text: String) -> Duration? {
    let units: [(String, Double)] = [
      ("ns", 1), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9), ("", 1e9),
    ]
    guard let value = scaled(text, units), value >= 1, value < 9e17 else { return nil }
    return .nanoseconds(Int64(value))
  }

  private static func scaled(_ text: String, _ units: [(String, Double)]) -> Double? {
    let text = text.lowercased()
    let digits = text.prefix { $0.isNumber || $0 == "." }
    let unit = text[digits.endIndex...].drop { $0 == " " }
    guard let first = digits.utf8.first, first != UInt8(ascii: "."), let number = Double(digits),
      let factor = units.first(where: { $0.0 == unit })?.1
    else { return nil }
    return number * factor
  }
}
