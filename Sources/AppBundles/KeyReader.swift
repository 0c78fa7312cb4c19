internal import AssetModel
internal import Basics
internal import Foundation
internal import PropertyLists

/// Reads keys of one property list, and writes down those that aren't as they must be.
struct KeyReader {
  let file: String
  private let values: [String: Any]
  /// Of the keys within a dictionary.
  private let prefix: String
  private let isOldStyle: Bool
  var findings: [Finding] = []

  init(_ list: PropertyList, file: String) {
    self.init(file: file, values: list.root, prefix: "", isOldStyle: list.isOldStyle)
  }

  private init(file: String, values: [String: Any], prefix: String, isOldStyle: Bool) {
    self.file = file
    self.values = values
    self.prefix = prefix
    self.isOldStyle = isOldStyle
  }

  func has(_ key: String) -> Bool { values[key] != nil }
  var keys: [String] { values.keys.sorted() }

  mutating func report(
    _ key: String, as severity: Finding.Severity = .error, expected: String, found: String? = nil,
    remedy: String? = nil
  ) {
    let text = found ?? values[key].map(Self.text(of:)) ?? "nothing"
    findings.append(
      Finding(severity, file: file, key: prefix + key, expected: expected, found: text, remedy: remedy))
  }

  /// nil where there is none, or one that isn't as expected, which is reported. An empty text is none.
  mutating func text(
    _ key: String, expected: String, isRequired: Bool = true, remedy: String? = nil,
    where isFit: (String) -> Bool = { _ in true }
  ) -> String? {
    guard has(key) || isRequired else { return nil }
    if let text = values[key] as? String, !text.isEmpty, isFit(text) { return text }
    report(key, expected: expected, remedy: remedy)
    return nil
  }

  mutating func flag(_ key: String) -> Bool? {
    guard let value = values[key] else { return nil }
    // Foundation's cast takes a number for a Bool, too.
    if type(of: value) == Bool.self { return value as? Bool }
    if isOldStyle, let text = (value as? String)?.lowercased() {
      if ["yes", "true", "1"].contains(text) { return true }
      if ["no", "false", "0"].contains(text) { return false }
    }
    report(key, expected: "true or false")
    return nil
  }

  /// - Parameter severity: of its absence; nil: it may be absent.
  mutating func bytes(_ key: String, absent severity: Finding.Severity? = .error, remedy: String? = nil) -> Int64? {
    let expected = "a number of bytes, 0 or more"
    guard let value = values[key] else {
      if let severity { report(key, as: severity, expected: expected, remedy: remedy) }
      return nil
    }
    if let number = Self.whole(value, isOldStyle: isOldStyle), number >= 0 { return number }
    report(key, expected: expected)
    return nil
  }

  private static func whole(_ value: Any, isOldStyle: Bool) -> Int64? {
    if type(of: value) == Bool.self { return nil }
    if let number = value as? NSNumber { return Int64(exactly: number) ?? Int64(exactly: number.doubleValue) }
    guard isOldStyle, let text = value as? String, DecimalText.isDigits(text) else { return nil }
    return Int64(text)
  }

  /// The texts of an array. Elements that aren't as expected are reported one by one and left out.
  mutating func texts(
    _ key: String, expected: String, element: String, where isFit: (String) -> Bool
  ) -> [String]? {
    guard let value = values[key] else { return nil }
    guard let array = value as? [Any], array.count <= 1000 else {
      report(key, expected: expected)
      return nil
    }
    var result: [String] = []
    for (index, value) in array.enumerated() {
      if let text = value as? String, isFit(text) {
        result.append(text)
      } else {
        report("\(key)[\(index)]", expected: element, found: Self.text(of: value))
      }
    }
    return result
  }

  /// The keys of a dictionary, to be read one by one; nil where it is absent or isn't one. The caller reports that.
  func dictionary(_ key: String) -> KeyReader? {
    guard let inner = values[key] as? [String: Any] else { return nil }
    return KeyReader(file: file, values: inner, prefix: "\(prefix)\(key).", isOldStyle: isOldStyle)
  }

  static func text(of value: Any) -> String {
    if type(of: value) == Bool.self { return value as? Bool == true ? "true" : "false" }
    return switch value {
    case let text as String: text.isEmpty ? "an empty text" : "'\(Printable.text(text, limit: 120))'"
    case let number as NSNumber: "the number \(number)"
    case let array as [Any]: array.count == 1 ? "an array of 1 element" : "an array of \(array.count) elements"
    case is [String: Any]: "a dictionary"
    case is Data: "data"
    case is Date: "a date"
    default: "something else"
    }
  }
}
