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
  let connections: [RunReport.Connection]?
  let log: [RunReport.LogLine]
  let droppedLogBytes: Int
  let droppedLogLines: Int
  let fault: RunReport.Fault?
  let stack: [RunReport.StackFrame]
  let threads: [Thread]
  let untoldThreads: Int
  let sandbox: [String: WallState]
  let meters: [String: String]

  struct Thread: Encodable {
    let number: UInt32
    let name: String
    let stack: [RunReport.StackFrame]
  }

  init(_ report: RunReport) {
    (outcome, plugin, usage) = (report.outcome, report.plugin, report.usage)
    (denials, droppedDenials) = (report.denials, report.droppedDenials)
    connections = report.connections.isEmpty ? nil : report.connections
    (log, droppedLogBytes, droppedLogLines) = (report.log, report.droppedLogBytes, report.droppedLogLines)
    (fault, stack) = (report.fault, report.stack)
    threads = report.threads.map { Thread(number: $0.number, name: $0.name, stack: $0.frames) }
    (untoldThreads, meters) = (report.untoldThreads, report.meters)
    sandbox = Dictionary(uniqueKeysWithValues: report.walls.map { ($0.key.rawValue, $0.value) })
  }

  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Every field is text, a number that is finite, or made of such.
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}
