internal import HostProtocol
package import PluginHost

/// What a call was seen to do.
package struct Observed: Sendable {
  package struct Denial: Sendable, Equatable {
    package var wall: String
    package var call: String
    package var target: String

    package var text: String { "\(wall): \(call)" + (target.isEmpty ? "" : "(\(target))") }
  }

  package var outcome: Outcome
  /// As `outrider call` prints it; nil: it didn't return.
  package var value: String?
  /// What was written to each `out(N)`.
  package var outputs: [[UInt8]] = []
  package var denials: [Denial] = []
  package var log: [String] = []
  package var wallSeconds = 0.0
  package var cpuSeconds = 0.0
  package var memoryBytes = 0

  package init(outcome: Outcome) { self.outcome = outcome }

  init(_ report: RunReport, _ result: RunnerMessage.CallResult?) {
    outcome = report.outcome
    value = result.map { CallWords.text(of: $0.value) }
    outputs = result?.out ?? []
    denials = report.denials.map { Denial(wall: $0.layer, call: $0.operation, target: $0.target) }
    log = report.log.map(\.message)
    wallSeconds = report.usage.wallSeconds
    cpuSeconds = report.usage.cpuSeconds
    memoryBytes = report.usage.peakMemoryBytes
  }
}
