internal import Foundation
internal import PluginHost

/// The results as one page that needs nothing else: no script, no font, no image.
struct TestPage {
  let report: TestReport
  let results: [PolicyTestResult]

  init(_ report: TestReport, _ results: [PolicyTestResult]) { (self.report, self.results) = (report, results) }

  /// The walls that a denial names, and what else ends a run.
  private static let columns = ["seccomp", "files", "limits"]

  var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Policy tests: \(Markup.escaped(report.summary))</title>
    <style>
    :root { color-scheme: light dark; --ok: #1a7f37; --bad: #cf222e; --stopped: #9a6700; --line: #8886; }
    @media (prefers-color-scheme: dark) { :root { --ok: #3fb950; --bad: #f85149; --stopped: #d29922; } }
    body { font: 16px/1.45 system-ui, sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 1rem; }
    table { border-collapse: collapse; width: 100%; }
    th, td { border-bottom: 1px solid var(--line); padding: .3rem .4rem; text-align: left; vertical-align: top; }
    td.wall, th.wall { text-align: center; }
    .ok { color: var(--ok); } .bad { color: var(--bad); font-weight: 600; } .stopped { color: var(--stopped); }
    code, li { overflow-wrap: anywhere; }
    details { margin: .2rem 0; } summary { cursor: pointer; }
    @media (max-width: 40rem) { .wide { display: none; } body { font-size: 15px; } }
    @media print { body { max-width: none; } details > * { display: revert; } }
    </style>
    </head>
    <body>
    <h1>Policy tests</h1>
    <p class="\(report.failures == 0 ? "ok" : "bad")">\(Markup.escaped(report.summary))</p>
    <table>
    <thead><tr><th>Test</th><th>Outcome</th>\(Self.columns.map { #"<th class="wall">\#($0)</th>"# }.joined())<th class="wide">Wall</th><th class="wide">Memory</th></tr></thead>
    <tbody>
    \(results.map(row).joined(separator: "\n"))
    </tbody>
    </table>
    </body>
    </html>
    """
  }

  private func row(_ result: PolicyTestResult) -> String {
    let observed = result.observed
    let walls = Self.columns.map { wall in
      let count = observed.denials.count { $0.wall == wall }
      return #"<td class="wall stopped">\#(count == 0 ? "" : "stopped\(count > 1 ? " × \(count)" : "")")</td>"#
    }
    let state = result.isAsExpected ? "ok" : "bad"
    let mark = result.gotThrough ? "✗ through:" : result.isAsExpected ? "✓" : "✗"
    return """
      <tr><td><details\(result.isAsExpected ? "" : " open")><summary class="\(state)">\(mark) \(Markup.escaped(result.name))</summary>
      <p>\(result.about.isEmpty ? "" : Markup.escaped(result.about) + "<br>")<code>\(Markup.escaped(result.call))</code><br>\(Markup.escaped(result.file)):\(result.line)</p>
      <ul>\(result.lines.map(line).joined())</ul>
      \(denials(observed))</details></td><td>\(Markup.escaped(observed.outcome.kind.rawValue))</td>\(walls.joined())\
      <td class="wide">\(String(format: "%.1f ms", observed.wallSeconds * 1000))</td><td class="wide">\(observed.memoryBytes >> 10) KiB</td></tr>
      """
  }

  private func line(_ line: PolicyTestResult.Line) -> String {
    guard let mismatch = line.mismatch else {
      return #"<li class="ok">\#(Markup.escaped(line.expectation))</li>"#
    }
    return #"<li class="bad">expected \#(Markup.escaped(line.expectation)); \#(Markup.escaped(mismatch))</li>"#
  }

  private func denials(_ observed: Observed) -> String {
    guard !observed.denials.isEmpty else { return "" }
    let items = observed.denials.prefix(200).map { "<li><code>\(Markup.escaped($0.text))</code></li>" }
    return "<p>Tried and denied:</p><ul>\(items.joined())</ul>"
  }
}
