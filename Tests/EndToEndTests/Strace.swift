import CTestSupport
import Foundation

/// What strace(1) writes of a process: every system call with its result.
///
/// Logs have some hundred thousand lines in all, which are read as bytes: characters, regular expressions and Foundation's
/// strings took four fifths of the time of the tests that compare them.
struct StraceLog {
  struct Call: Hashable {
    var name: String
    var arguments: String
    /// The texts among its arguments.
    var paths: [String]
    /// The errno's name; nil: it succeeded, or never returned.
    var error: String?
    var hasReturned: Bool

    /// The first of them.
    var path: String? { paths.first }
  }

  private(set) var calls: [Call] = []

  /// Of the file that `-f -o` writes. Calls of several threads are divided among lines. `renamed`: folders, and what stands in
  /// their place, in this order. `withoutFirst`: of all processes but the one that strace started.
  init(_ text: String, renamed: KeyValuePairs<String, String> = [:], withoutFirst: Bool = false) {
    var text = renamed.reduce(text) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
    text.withUTF8 { read(Bytes($0), withoutFirst: withoutFirst) }
  }

  private mutating func read(_ text: Bytes, withoutFirst: Bool) {
    var unfinished: [String: [UInt8]] = [:]
    var first: String?
    var text = text
    while let line = text.line() {
      var rest = line
      let process = rest.word()
      guard Int(process) != nil, rest.count > 0 else { continue }
      if first == nil { first = process }
      if withoutFirst, process == first { continue }
      if let end = rest.offset(of: " <unfinished ...>") {
        unfinished[process] = rest.prefix(end).array
        continue
      }
      if rest.hasPrefix("<... "), let end = rest.offset(of: " resumed>") {
        let whole = (unfinished.removeValue(forKey: process) ?? []) + rest.dropFirst(end + " resumed>".utf8.count).array
        whole.withUnsafeBufferPointer { add(Bytes($0)) }
      } else {
        add(rest)
      }
    }
    // Those that never returned.
    for rest in unfinished.values { (rest + Array(") = ?".utf8)).withUnsafeBufferPointer { add(Bytes($0)) } }
  }

  private mutating func add(_ line: Bytes) {
    guard let open = line.offset(of: "("), let (close, result) = line.lastResult(), close > open else { return }
    let name = line.prefix(open)
    guard name.count > 0, name.isName else { return }
    let arguments = line.prefix(close).dropFirst(open + 1)
    var rest = line.dropFirst(result)
    let (value, error) = (rest.word(), rest.word())
    calls.append(
      Call(
        name: name.text, arguments: arguments.text, paths: arguments.quoted,
        error: value == "-1" && !error.isEmpty ? error : nil, hasReturned: value != "?"))
  }
}

/// Bytes of a text that somebody else holds, searched by the C library.
private struct Bytes {
  private let start: UnsafePointer<UInt8>?
  private(set) var count: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>) { (start, count) = (bytes.baseAddress, bytes.count) }

  private init(_ start: UnsafePointer<UInt8>?, _ count: Int) { (self.start, self.count) = (start, count) }

  private var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }
  var text: String { String(decoding: buffer, as: UTF8.self) }
  var array: [UInt8] { Array(buffer) }

  func prefix(_ length: Int) -> Bytes { Bytes(start, length) }
  func dropFirst(_ length: Int) -> Bytes { Bytes(start.map { $0 + length }, count - length) }

  func offset(of word: StaticString) -> Int? {
    guard let start, let found = test_find(start, count, word.utf8Start, word.utf8CodeUnitCount) else { return nil }
    return UnsafeRawPointer(start).distance(to: found)
  }

  func hasPrefix(_ word: StaticString) -> Bool {
    guard let start, count >= word.utf8CodeUnitCount else { return false }
    return memcmp(start, word.utf8Start, word.utf8CodeUnitCount) == 0
  }

  /// Takes the next line, without its end; nil: there is none. Empty ones are no lines.
  mutating func line() -> Bytes? {
    while count > 0 {
      let length = offset(of: "\n") ?? count
      let line = prefix(length)
      self = dropFirst(min(length + 1, count))
      if length > 0 { return line }
    }
    return nil
  }

  /// Takes what stands before the next blanks, and these.
  mutating func word() -> String {
    skipBlanks()
    let length = offset(of: " ") ?? count
    let word = prefix(length).text
    self = dropFirst(length)
    skipBlanks()
    return word
  }

  private mutating func skipBlanks() {
    while let start, count > 0, start.pointee == UInt8(ascii: " ") { self = dropFirst(1) }
  }

  /// Where the arguments end, and where the result begins: at the last ")", blanks and "= ", since the arguments may hold anything.
  func lastResult() -> (end: Int, result: Int)? {
    guard let start else { return nil }
    var length = count
    while let found = test_find_last(start, CInt(UInt8(ascii: ")")), length) {
      length = UnsafeRawPointer(start).distance(to: found)
      var rest = dropFirst(length + 1)
      rest.skipBlanks()
      if rest.hasPrefix("= ") { return (length, count - rest.count + 2) }
    }
    return nil
  }

  /// Of letters, digits and underscores.
  var isName: Bool {
    buffer.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || byte == UInt8(ascii: "_")
    }
  }

  /// What stands between quotation marks.
  var quoted: [String] {
    var found: [String] = []
    var rest = self
    while let open = rest.offset(of: "\"") {
      rest = rest.dropFirst(open + 1)
      guard let close = rest.offset(of: "\"") else { break }
      found.append(rest.prefix(close).text)
      rest = rest.dropFirst(close + 1)
    }
    return found
  }
}
