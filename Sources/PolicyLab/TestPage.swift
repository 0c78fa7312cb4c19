internal import Foundation
internal import PluginHost

/// The results as one page that needs nothing else: no script, no font, no image. Its policy has a browser refuse them, too.
struct TestPage {
  let report: TestReport
  /// Those that are shown; the summary counts all.
  let results: [PolicyTestResult]
  private let walls: [String]

  init(_ report: TestReport, _ results: [PolicyTestResult]) {
    (self.report, self.results) = (report, results)
    walls = TestPageCell.walls(of: results)
  }

  var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
    <title>Policy tests: \(Markup.escaped(report.summary))</title>
    <style>
    \(Self.style)
    </style>
    </head>
    <body style="--walls: \(walls.count)">
    <h1>Policy tests</h1>
    \(summary)
    \(legend)
    \(failures)
    \(matrix)
    </body>
    </html>
    """
  }

  // MARK: Above the matrix

  private var summary: String {
    let state = report.failures == 0 ? "ok" : "bad"
    var kinds: [String] = []
    for kind in Outcome.Kind.allCases {
      let count = report.results.count { $0.observed.outcome.kind == kind }
      if count > 0 { kinds.append("<li>\(outcome(kind)) \(count)</li>") }
    }
    return """
      <p class="verdict"><b class="mark \(state)">\(Self.mark(state == "ok"))</b> \(Markup.escaped(report.summary))</p>
      <ul class="counts" aria-label="Outcomes">\(kinds.joined())</ul>
      """
  }

  private var legend: String {
    let cells = TestPageCell.State.allCases.map { state in
      #"<li><span class="cell \#(state.rawValue)">\#(state.sign)</span> \#(state.meaning)</li>"#
    }
    return """
      <ul class="legend" aria-label="Signs"><li><b class="mark ok">✓</b> as expected</li>\
      <li><b class="mark bad">✗</b> not as expected</li>\(cells.joined())</ul>
      """
  }

  /// Where to find the few among many, and a switch that hides the many.
  private var failures: String {
    let failed = results.indices.filter { !results[$0].isAsExpected }
    guard !failed.isEmpty, failed.count < results.count else { return "" }
    let shown = failed.prefix(50).map { index in
      ##"<li><a href="#r\##(index)"><bdi>\##(Markup.escaped(results[index].name))</bdi></a></li>"##
    }
    let more = failed.count > 50 ? "<li>and \(failed.count - 50) more</li>" : ""
    return """
      <details class="failures"\(failed.count > 15 ? "" : " open")><summary>Not as expected: \(failed.count)</summary>\
      <ul>\(shown.joined())\(more)</ul></details>
      <input type="checkbox" id="only"><label for="only">Show only what isn't as expected</label>
      """
  }

  // MARK: The matrix

  private var matrix: String {
    guard !results.isEmpty else {
      return "<p>\(report.results.isEmpty ? "Nothing was tested." : "Nothing to show: all are as expected.")</p>"
    }
    let heads = walls.map { wall in
      let count = results.count { TestPageCell(wall, $0.observed).state.isOfWall }
      return #"<span class="wall">\#(Markup.escaped(wall))<small>\#(count) of \#(results.count)</small></span>"#
    }
    return """
      <main class="matrix">
      <div class="head"><div class="line"><span class="name">\(report.noun.one.capitalized)</span>\
      <span class="outcome">Outcome</span>\(heads.joined())\
      <span class="figure">Time</span><span class="figure">Memory</span></div></div>
      <div class="rows">
      \(results.indices.map(row).joined(separator: "\n"))
      </div>
      </main>
      """
  }

  private func row(_ index: Int) -> String {
    let result = results[index]
    let observed = result.observed
    let cells = walls.map { wall in
      let cell = TestPageCell(wall, observed)
      let label = cell.state == .none ? "" : #" role="img" title="\#(Markup.escaped(wall)): \#(cell.words)""#
      return #"<span class="cell \#(cell.state.rawValue)"\#(label)>\#(cell.text)</span>"#
    }
    let state = result.isAsExpected ? "ok" : "bad"
    return """
      <details class="row \(state)" id="r\(index)"\(result.isAsExpected ? "" : " open")><summary class="line">\
      <span class="name"><b class="mark \(state)">\(Self.mark(result.isAsExpected))</b>\
      \(result.gotThrough ? #"<b class="through">got through</b>"# : "")\
      <bdi>\(Markup.escaped(result.name))</bdi></span>\(outcome(observed.outcome.kind))\(cells.joined())\
      <span class="figure">\(Self.time(observed))</span><span class="figure">\(Self.memory(observed))</span></summary>\
      <div class="more">\(details(of: result))</div></details>
      """
  }

  /// A name of words in one is broken between them where it must be.
  private func outcome(_ kind: Outcome.Kind) -> String {
    let words = kind.rawValue.map { $0.isUppercase ? "<wbr>\($0)" : String($0) }.joined()
    return #"<span class="outcome \#(TestPageCell.family(of: kind))">\#(words)</span>"#
  }

  private static func mark(_ isAsExpected: Bool) -> String { isAsExpected ? "✓" : "✗" }
  private static func time(_ observed: Observed) -> String { String(format: "%.1f ms", observed.wallSeconds * 1000) }
  private static func memory(_ observed: Observed) -> String { "\(observed.memoryBytes >> 10) KiB" }
}
