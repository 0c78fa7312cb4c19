internal import Sandbox

/// A limit of a policy that is far above what runs under it used: more than twice what a recording makes of that, and more than
/// every plugin has.
package struct ExcessLimit: Sendable, Equatable, Encodable {
  package var name: String
  /// As the policy has it.
  package var limit: String
  /// What was reached.
  package var reached: String
  /// As a recording would have it.
  package var enough: String

  package var text: String { "\(name): \(limit); \(reached), and a recording would allow \(enough)" }

  static func all(of policy: Policy, by recording: Recording) -> [ExcessLimit] {
    let observed = recording.observed
    let reached = [
      "wall": "the longest test took \(LimitValues.milliseconds(observed.map(\.wallSeconds).max() ?? 0))",
      "cpu": "the longest test took \(LimitValues.milliseconds(observed.map(\.cpuSeconds).max() ?? 0))",
      "memory": "the largest test used \((observed.map(\.memoryBytes).max() ?? 0) >> 10) KiB",
      // The report has no count of these: what the tests had was enough.
      "openFiles": "no test needed more than \(recording.policy.limits.openFiles)",
      "threads": "no test needed more than \(recording.policy.limits.threads)",
    ]
    let values = [policy.limits, recording.policy.limits, Limits()].map(LimitValues.all)
    var found = values[0].indices.compactMap { index -> ExcessLimit? in
      let (limit, enough, usual) = (values[0][index], values[1][index], values[2][index])
      guard let reached = reached[limit.name], limit.number > usual.number, limit.number > enough.number * 2 else {
        return nil
      }
      return ExcessLimit(
        name: "limits.\(limit.name)", limit: limit.written, reached: reached, enough: enough.written)
    }
    // A recording allows twice as many as it saw; none at all is a permission that isn't used.
    let (allowed, enough) = (policy.processes, recording.policy.processes)
    if enough > 0, allowed > enough * 2 {
      let seen = observed.map(\.processes).max() ?? 0
      found.append(
        ExcessLimit(
          name: "processes", limit: "\(allowed)", reached: "no test had more than \(seen) at one time",
          enough: "\(enough)"))
    }
    return found
  }
}
