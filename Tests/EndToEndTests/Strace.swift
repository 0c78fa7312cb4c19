import Foundation
import TestSupport
import Testing

/// What strace(1) writes of a process: every system call with its result.
struct StraceLog {
  struct Call: Hashable {
    var name: String
    var arguments: String
    /// The errno's name; nil: it succeeded, or never returned.
    var error: String?
    var hasReturned: Bool

    /// The texts among its arguments.
    var paths: [String] { arguments.matches(of: #/"([^"]*)"/#).map { String($0.1) } }

    /// The first of them.
    var path: String? { paths.first }

    /// With one folder in the place of another.
    func renaming(_ folder: String, to other: String) -> Call {
      var call = self
      call.arguments = arguments.replacingOccurrences(of: folder, with: other)
      return call
    }
  }

  private(set) var calls: [Call] = []

  /// Of the file that `-f -o` writes. Calls of several threads are divided among lines. `withoutFirst`: of all processes but the
  /// one that strace started.
  init(_ text: String, withoutFirst: Bool = false) {
    var unfinished: [Substring: String] = [:]
    var first: Substring?
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
      guard parts.count == 2, Int(parts[0]) != nil else { continue }
      if first == nil { first = parts[0] }
      if withoutFirst, parts[0] == first { continue }
      var rest = parts[1].drop { $0 == " " }
      if let range = rest.range(of: " <unfinished ...>") {
        unfinished[parts[0]] = String(rest[..<range.lowerBound])
        continue
      }
      if rest.hasPrefix("<... "), let end = rest.range(of: " resumed>") {
        rest = Substring((unfinished.removeValue(forKey: parts[0]) ?? "") + rest[end.upperBound...])
      }
      if let call = Self.call(String(rest)) { calls.append(call) }
    }
    // Those that never returned.
    for rest in unfinished.values { if let call = Self.call(rest + ") = ?") { calls.append(call) } }
  }

  private static func call(_ line: String) -> Call? {
    guard let open = line.firstIndex(of: "("),
      // The last one: the arguments may hold anything.
      let close = line.range(of: "\\) *= ", options: [.regularExpression, .backwards]), close.lowerBound > open
    else { return nil }
    let name = String(line[..<open])
    guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else { return nil }
    let words = line[close.upperBound...].split(separator: " ")
    let error = words.first == "-1" && words.count > 1 ? String(words[1]) : nil
    return Call(
      name: name, arguments: String(line[line.index(after: open)..<close.lowerBound]), error: error,
      hasReturned: words.first != "?")
  }
}
