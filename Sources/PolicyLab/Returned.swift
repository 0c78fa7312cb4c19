internal import AssetModel
internal import Basics
internal import HostProtocol

/// What a function returned, to be compared with what a test expects.
struct Returned {
  /// As `outrider call` prints it.
  let shown: String
  /// The text itself; nil: it is no text, or isn't UTF-8.
  let text: String?

  init(shown: String, text: String?) { (self.shown, self.text) = (shown, text) }

  init(_ value: CallValue) { self.init(shown: CallWords.text(of: value), text: Self.text(of: value)) }

  /// A text is printed like NULL, a number or a structure, which have none: then quotes tell it from them.
  private static let null = "null"

  static func text(of value: CallValue) -> String? {
    if case .cstring(let bytes?) = value { String(validating: bytes, as: UTF8.self) } else { nil }
  }

  /// What was returned instead; nil: it is what was wanted. A text may also be expected as it is printed, with what a
  /// terminal may not see as `\u{…}`.
  func mismatch(with wanted: String) -> String? {
    guard let text else { return wanted.trimmed == shown ? nil : "returned \(shown)" }
    if text == Self.null, wanted.trimmed == shown { return #"returned the text null, which is "null" here"# }
    if text == Self.null, wanted.trimmed == "\"null\"" { return nil }
    if wanted == text || shown != text && wanted.trimmed == shown { return nil }
    // What differs would look alike.
    let bytes =
      Printable.text(wanted) == Printable.text(text) ? ", which is hex:\(Hexadecimal.text(Array(text.utf8)))" : ""
    return "returned \(shown)\(bytes)"
  }
}
