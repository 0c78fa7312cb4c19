internal import Foundation
internal import PluginHost

/// What a row opens to.
extension TestPage {
  /// The most denials and lines of the log that a row has: a page of hundreds of rows stays one that a browser opens at once.
  private static let maxLines = 200

  func details(of result: PolicyTestResult) -> String {
    let observed = result.observed
    let figures = String(
      format: "%.1f ms, %.1f ms of CPU, ", observed.wallSeconds * 1000, observed.cpuSeconds * 1000)
    var parts = [result.about.isEmpty ? "" : "<p><bdi>\(Markup.escaped(result.about))</bdi></p>"]
    parts.append("<p><code>\(Markup.escaped(result.call))</code></p>")
    parts.append("<ul>\(result.lines.map(line).joined())</ul>")
    if let value = observed.value { parts.append("<p>Returned <code>\(Markup.escaped(value))</code></p>") }
    if !observed.outcome.detail.isEmpty { parts.append("<p><bdi>\(Markup.escaped(observed.outcome.detail))</bdi></p>") }
    parts.append(list("Tried and denied", observed.denials.map(denial), andMore: observed.droppedDenials))
    parts.append(list("Its log", observed.log.map { "<li><code>\(Markup.escaped($0))</code></li>" }, andMore: 0))
    parts.append(
      "<p class=\"place\"><bdi>\(Markup.escaped(result.file))</bdi>:\(result.line) · \(figures)\(observed.memoryBytes >> 10) KiB</p>"
    )
    return parts.joined()
  }

  private func line(_ line: PolicyTestResult.Line) -> String {
    let expectation = "<bdi>\(Markup.escaped(line.expectation))</bdi>"
    guard let mismatch = line.mismatch else { return #"<li class="ok"><b>✓</b> \#(expectation)</li>"# }
    return #"<li class="bad"><b>✗</b> expected \#(expectation); <bdi>\#(Markup.escaped(mismatch))</bdi></li>"#
  }

  private func denial(_ denial: Observed.Denial) -> String {
    let count = denial.count > 1 ? " × \(denial.count)" : ""
    return
      "<li><code>\(Markup.escaped(denial.text))</code>\(count)\(denial.isAbsent ? ", which isn't there" : denial.isQuestion ? ", a question" : "")</li>"
  }

  private func list(_ title: String, _ items: [String], andMore dropped: Int) -> String {
    guard !items.isEmpty else { return "" }
    let left = max(items.count - Self.maxLines, 0) + dropped
    let more = left > 0 ? "<li>and \(left) more</li>" : ""
    return "<p>\(title):</p><ul>\(items.prefix(Self.maxLines).joined())\(more)</ul>"
  }
}
