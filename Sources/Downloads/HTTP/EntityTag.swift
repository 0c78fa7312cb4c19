/// `ETag` (RFC 9110, 8.8.3).
struct EntityTag: Equatable {
  /// With its quotes, without `W/`.
  let text: String
  let isWeak: Bool

  init?(_ value: String) {
    isWeak = value.hasPrefix("W/")
    text = isWeak ? String(value.dropFirst(2)) : value
    let bytes = Array(text.utf8)
    guard bytes.count >= 2, bytes.count <= 1024, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\""),
      bytes.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7f })
    else { return nil }
  }

  /// `Last-Modified`, where it identifies a version: at least a minute older than the answer (RFC 9110, 8.8.2.2).
  static func usableLastModified(in head: ResponseHead) -> String? {
    let values = head.values("last-modified")
    guard values.count == 1, let modified = HTTPDate.seconds(values[0]), let now = head.date, now - modified >= 60 else { return nil }
    return values[0]
  }
}
