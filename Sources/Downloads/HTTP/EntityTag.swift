internal import Basics

/// `ETag` (RFC 9110, 8.8.3).
struct EntityTag: Sendable, Equatable {
  /// With its quotes, without `W/`.
  let text: String
  let isWeak: Bool

  private static let maxBytes = 1024

  init?(_ value: String) {
    var bytes = Array(value.utf8.prefix(Self.maxBytes + 1))
    guard bytes.count <= Self.maxBytes else { return nil }
    isWeak = bytes.starts(with: Array("W/".utf8))
    if isWeak { bytes.removeFirst(2) }
    let quote = UInt8(ascii: "\"")
    guard bytes.count >= 2, bytes.first == quote, bytes.last == quote,
      // Other bytes are allowed; but text that isn't ASCII is compared by what it means, and a tag by its bytes.
      bytes.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != quote && $0 < 0x7f })
    else { return nil }
    text = String(decoding: bytes, as: UTF8.self)
  }

  /// `Last-Modified`, where it identifies a version: at least a minute older than the answer (RFC 9110, 8.8.2.2).
  static func usableLastModified(in head: ResponseHead) -> String? {
    let values = head.values("last-modified")
    guard values.count == 1, let modified = HTTPDate.seconds(values[0]), let now = head.date, now - modified >= 60
    else {
      return nil
    }
    return values[0]
  }
}
