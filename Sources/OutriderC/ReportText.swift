internal import Foundation
internal import PluginHost
internal import Sandbox

/// A report as one JSON object, named as `outrider call --json` names it.
struct ReportText: Encodable {
  let outcome: Outcome
  let plugin: RunReport.LoadedFile?
  let usage: RunReport.Usage
  let denials: [RunReport.Denial]
  let droppedDenials: Int
  let log: [RunReport.LogLine]
  let droppedLogLines: Int
  let fault: RunReport.Fault?
  let stack: [RunReport.StackFrame]
  let threads: [RunReport.ThreadStack]
  let sandbox: [String: WallState]

  init(_ report: RunReport) {
    (outcome, plugin, usage) = (report.outcome, report.plugin, report.usage)
    (denials, droppedDenials) = (report.denials, report.droppedDenials)
    (log, droppedLogLines) = (report.log, report.droppedLogLines)
    (fault, stack, threads) = (report.fault, report.stack, report.threads)
    sandbox = Dictionary(uniqueKeysWithValues: report.walls.map { ($0.key.rawValue, $0.value) })
  }

  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Every field is text, a number that is finite, or made of such.
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}
