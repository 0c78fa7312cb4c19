internal import Basics

/// What a `Range` field asks for (RFC 9110, section 14).
enum RequestedRange: Equatable {
  /// No field, one that isn't understood, or several ranges at once: all of it.
  case everything
  case part(Range<Int>)
  case unsatisfiable

  init(_ field: String?, of count: Int) {
    self = .everything
    guard let field, let equals = field.firstIndex(of: "="), String(field[..<equals]).isEqualIgnoringCase(to: "bytes")
    else { return }
    let text = String(field[field.index(after: equals)...]).trimmed
    guard !text.contains(","), let dash = text.firstIndex(of: "-") else { return }
    let first = text[..<dash]
    let last = text[text.index(after: dash)...]
    func number(_ text: Substring) -> Int? {
      guard DecimalText.isDigits(text) else { return nil }
      // Longer than any file: as far as there is.
      return Int(text) ?? .max
    }
    if first.isEmpty {
      guard let suffix = number(last) else { return }
      self = suffix == 0 || count == 0 ? .unsatisfiable : .part(max(count - suffix, 0)..<count)
    } else if let start = number(first) {
      if last.isEmpty {
        self = start < count ? .part(start..<count) : .unsatisfiable
      } else if let end = number(last), end >= start {
        self = start < count ? .part(start..<(end < count ? end + 1 : count)) : .unsatisfiable
      }
    }
  }
}
