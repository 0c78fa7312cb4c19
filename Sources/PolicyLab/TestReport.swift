internal import AssetModel
internal import Foundation
internal import PluginHost

/// The results of test files, in the forms that people and CI read. Everything that a plugin or a file said is escaped.
package struct TestReport: Sendable {
  package enum Format: String, Sendable, CaseIterable { case table, json, junit, html }

  /// A test that an interrupt came before.
  package struct Missing: Sendable, Encodable {
    package var file: String
    package var line: Int
    package var name: String

    package init(file: String, line: Int, name: String) { (self.file, self.line, self.name) = (file, line, name) }
  }

  package var results: [PolicyTestResult] = []
  package var missing: [Missing] = []
  /// What the summary counts.
  package var noun = (one: "test", many: "tests")

  package init() {}

  package var failures: Int { results.count { !$0.isAsExpected } }
  private var through: Int { results.count(where: \.gotThrough) }

  package var summary: String {
    let count = results.count + missing.count
    return "\(count) \(count == 1 ? noun.one : noun.many): \(results.count - failures) as expected, \(failures) not"
      + (through > 0 ? "; \(through) got through" : "")
      + (missing.isEmpty ? "" : "; interrupted, \(missing.count) not run")
  }

  /// The summary counts all results also where only those that aren't as expected are shown.
  package func text(_ format: Format, onlyFailures: Bool = false) throws -> String {
    let shown = onlyFailures ? results.filter { !$0.isAsExpected } : results
    return switch format {
    case .table: table(shown)
    case .json: try json(shown)
    case .junit: junit(shown)
    case .html: TestPage(self, shown).html
    }
  }

  // MARK: Table

  private func table(_ results: [PolicyTestResult]) -> String {
    if results.isEmpty { return summary }
    let rows = results.map { result in
      [
        result.gotThrough ? "THROUGH" : result.isAsExpected ? "ok" : "NOT", Self.printed(result.name, 60),
        result.observed.outcome.kind.rawValue,
        String(format: "%.1f ms", result.observed.wallSeconds * 1000), "\(result.observed.memoryBytes >> 10) KiB",
      ]
    }
    let head = ["", "TEST", "OUTCOME", "WALL", "MEMORY"]
    let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
    func line(_ cells: [String]) -> String {
      var text = zip(cells, widths).map { $0 + String(repeating: " ", count: max($1 - $0.count, 0)) }.joined(
        separator: "  ")
      while text.hasSuffix(" ") { text.removeLast() }
      return text
    }
    var lines = [line(head)]
    for (result, row) in zip(results, rows) {
      lines.append(line(row))
      for one in result.lines {
        guard let mismatch = one.mismatch else { continue }
        lines.append("     expected \(Self.printed(one.expectation, 200)); \(Self.printed(mismatch, 600))")
        lines.append("     at \(Self.printed(result.file, 400)):\(result.line)")
      }
      if !result.isAsExpected { lines += Self.logEnd(result.observed.log) }
    }
    return (lines + [summary]).joined(separator: "\n")
  }

  /// What a plugin said last mostly says why.
  private static let maxShownLog = 8
  /// Lines of its log that a result has where they are read by programs.
  private static let maxLog = 200

  private static func logEnd(_ log: [String]) -> [String] {
    let before = log.count - maxShownLog
    return
      (before > 0
      ? ["     its log, after \(before) \(before == 1 ? "line" : "lines"):"] : log.isEmpty ? [] : ["     its log:"])
      + log.suffix(maxShownLog).map { "       \(printed($0, 200))" }
  }

  static func printed(_ text: String, _ limit: Int) -> String { Printable.text(text, limit: limit) }

  // MARK: JSON

  private struct Body: Encodable {
    struct Test: Encodable {
      struct Line: Encodable { var expected: String, isMet: Bool, seen: String? }
      var file: String, line: Int, name: String, call: String, isAsExpected: Bool, gotThrough: Bool
      var outcome: String, detail: String, value: String?, denials: [String]
      var wallSeconds: Double, cpuSeconds: Double, memoryBytes: Int
      var expectations: [Line]
      /// The last lines of it.
      var log: [String]
    }
    var tests: [Test]
    var passed: Int
    var failed: Int
    /// Where an interrupt came.
    var notRun: [Missing]?
  }

  private func json(_ results: [PolicyTestResult]) throws -> String {
    let tests = results.map { result in
      Body.Test(
        file: result.file, line: result.line, name: result.name, call: result.call,
        isAsExpected: result.isAsExpected,
        gotThrough: result.gotThrough,
        outcome: result.observed.outcome.kind.rawValue, detail: result.observed.outcome.detail,
        value: result.observed.value, denials: result.observed.denials.map(\.text),
        wallSeconds: result.observed.wallSeconds, cpuSeconds: result.observed.cpuSeconds,
        memoryBytes: result.observed.memoryBytes,
        expectations: result.lines.map {
          .init(expected: $0.expectation, isMet: $0.mismatch == nil, seen: $0.mismatch)
        }, log: result.observed.log.suffix(Self.maxLog).map { Self.printed($0, 2000) })
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    let body = Body(
      tests: tests, passed: self.results.count - failures, failed: failures,
      notRun: missing.isEmpty ? nil : missing)
    return Self.escaped(String(decoding: try encoder.encode(body), as: UTF8.self))
  }

  /// What isn't ASCII as \u…: a terminal obeys some of it.
  private static func escaped(_ json: String) -> String {
    var text = ""
    for scalar in json.unicodeScalars {
      guard !scalar.isASCII else {
        text.unicodeScalars.append(scalar)
        continue
      }
      for unit in String(scalar).utf16 { text += String(format: "\\u%04x", unit) }
    }
    return text
  }

  // MARK: JUnit

  /// As Jenkins, GitLab and others read it: https://github.com/testmoapp/junitxml.
  private func junit(_ results: [PolicyTestResult]) -> String {
    var lines = [#"<?xml version="1.0" encoding="UTF-8"?>"#]
    let seconds = String(format: "%.6f", results.reduce(0) { $0 + $1.observed.wallSeconds })
    lines.append(
      #"<testsuites tests="\#(results.count + missing.count)" failures="\#(failures)" skipped="\#(missing.count)" time="\#(seconds)">"#
    )
    var files: [String] = []
    for file in results.map(\.file) + missing.map(\.file) where !files.contains(file) { files.append(file) }
    for file in files {
      let own = results.filter { $0.file == file }
      let failed = own.count { !$0.isAsExpected }
      let absent = missing.filter { $0.file == file }
      lines.append(
        #"  <testsuite name="\#(Markup.escaped(file))" tests="\#(own.count + absent.count)" failures="\#(failed)" skipped="\#(absent.count)">"#
      )
      for result in own {
        let time = String(format: "%.6f", result.observed.wallSeconds)
        let attributes =
          #"name="\#(Markup.escaped(result.name))" classname="\#(Markup.escaped(file))" file="\#(Markup.escaped(file))" line="\#(result.line)" time="\#(time)""#
        let mismatches = result.lines.compactMap { line in
          line.mismatch.map { "expected \(line.expectation); \($0)" }
        }
        if mismatches.isEmpty {
          lines.append("    <testcase \(attributes)/>")
        } else {
          lines.append("    <testcase \(attributes)>")
          lines.append(
            #"      <failure message="\#(Markup.escaped(mismatches[0]))">\#(Markup.escaped(mismatches.joined(separator: "\n")))</failure>"#
          )
          let log = result.observed.log.suffix(Self.maxLog)
          if !log.isEmpty {
            lines.append("      <system-out>\(Markup.escaped(log.joined(separator: "\n")))</system-out>")
          }
          lines.append("    </testcase>")
        }
      }
      for test in absent {
        lines.append(
          #"    <testcase name="\#(Markup.escaped(test.name))" classname="\#(Markup.escaped(file))" file="\#(Markup.escaped(file))" line="\#(test.line)"><skipped message="interrupted before it was run"/></testcase>"#
        )
      }
      lines.append("  </testsuite>")
    }
    return (lines + ["</testsuites>"]).joined(separator: "\n")
  }
}

/// Text within XML and HTML.
enum Markup {
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\n": result += "&#10;"
      // XML has no other control characters (2.2), and those that turn the direction of a line hide what it says.
      case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{202a}"..."\u{202e}", "\u{2066}"..."\u{2069}", "\u{fffe}",
        "\u{ffff}":
        result += "\u{fffd}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
