/// The protocol version of a status line (RFC 9112, 2.3); `HTTP/2` and later have no minor number.
struct HTTPVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  let major: UInt8
  let minor: UInt8

  static let http11 = Self(major: 1, minor: 1)

  init(major: UInt8, minor: UInt8) {
    self.major = major
    self.minor = minor
  }

  /// `HTTP/1.1`, or `HTTP/2` as libcurl writes it. 0.9 has no status line, and is never spoken.
  init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8.prefix(9))
    guard bytes.starts(with: Array("HTTP/".utf8)) else { return nil }
    let digits = bytes.dropFirst(5).map { $0 &- UInt8(ascii: "0") }
    guard let major = digits.first, (1...9).contains(major) else { return nil }
    switch digits.count {
    case 1 where major >= 2: self.init(major: major, minor: 0)
    case 3 where bytes[6] == UInt8(ascii: ".") && digits[2] <= 9: self.init(major: major, minor: digits[2])
    default: return nil
    }
  }

  static func < (left: Self, right: Self) -> Bool { (left.major, left.minor) < (right.major, right.minor) }

  var description: String { major >= 2 && minor == 0 ? "HTTP/\(major)" : "HTTP/\(major).\(minor)" }
}
