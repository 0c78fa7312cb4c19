internal import AssetModel
internal import HostProtocol
package import PluginHost
internal import Sandbox

/// How one test ended.
package struct PolicyTestResult: Sendable {
  package struct Line: Sendable {
    package var expectation: String
    /// What was seen instead; nil: it holds.
    package var mismatch: String?
  }

  package var file: String
  package var line: Int
  package var name: String
  /// What was called, as on the command line.
  package var call: String
  package var observed: Observed
  package var lines: [Line]
  /// What it does, in a sentence.
  package var about = ""
  /// What a wall has to stop wasn't stopped by any.
  package var gotThrough = false
  package var isAsExpected: Bool { lines.allSatisfy { $0.mismatch == nil } }
}

/// Runs tests one after the other, each in a process of its own under the real walls.
package struct PolicyTestRunner: Sendable {
  private let host: PluginHost
  private let options: PluginHost.LoadOptions

  package init(host: PluginHost, options: PluginHost.LoadOptions = .init()) {
    (self.host, self.options) = (host, options)
  }

  /// `library`: as `PluginHost.load` takes it. Throws where the host, and not the library, is at fault.
  package func run(_ test: PolicyTests.Test, of file: String, library: String) async throws(HostError)
    -> PolicyTestResult
  {
    var (observed, failed) = try await observe(test, library)
    observed.ownLimits = test.ownLimits
    return PolicyTestResult(
      file: file, line: test.line, name: test.name, call: test.steps.map(\.text).joined(separator: "; "),
      observed: observed,
      lines: (failed.map { [$0] } ?? [])
        + test.expectations.map { .init(expectation: $0.text, mismatch: $0.mismatch(with: observed)) })
  }

  /// The line is of the step that returned something else than it says: those after it aren't taken.
  package func observe(
    _ test: PolicyTests.Test, _ library: String
  ) async throws(HostError) -> (Observed, PolicyTestResult.Line?) {
    try Self.check(test)
    var result: RunnerMessage.CallResult?
    let plugin: Plugin
    do throws(HostError) {
      plugin = try await host.load(library, policy: test.policy, options: options)
    } catch {
      guard let report = error.report else { throw error }
      return (Observed(report, result, under: test.policy), nil)
    }
    var values = StepValues(container: plugin.containerView, bundle: RunnerView.bundle)
    var missing: String?
    var failed: PolicyTestResult.Line?
    do throws(HostError) {
      for (index, step) in test.steps.enumerated() {
        let arguments = try Self.arguments(of: step, values, test.policy)
        result = nil
        let answer = try await plugin.call(step.symbol, "\(step.signature)", arguments: arguments)
        result = answer
        values.save(answer, of: step)
        if let wanted = step.returns, let mismatch = Returned(answer.value).mismatch(with: wanted) {
          failed = .init(
            expectation: "step \(index + 1), \(step.symbol), returned \(wanted)", mismatch: mismatch)
          break
        }
      }
    } catch {
      switch error {
      case .entryPointMissing(let text): missing = text
      case .ended: break
      default:
        _ = await plugin.end()
        throw error
      }
    }
    var report = await plugin.end()
    if let missing { report.outcome = Outcome(.entryPointMissing, missing) }
    return (Observed(report, result, under: test.policy), failed)
  }

  /// What can be said of its calls before anything is loaded.
  package static func check(_ test: PolicyTests.Test) throws(HostError) {
    let values = StepValues(container: RunnerView.container, bundle: RunnerView.bundle)
    for step in test.steps {
      let later = step.arguments.compactMap(StepValues.reference).filter { !StepValues.reserved.contains($0) }
      guard later.isEmpty else { continue }
      let arguments = try arguments(of: step, values, test.policy)
      try PluginHost.check(step.symbol, "\(step.signature)", arguments: arguments, policy: test.policy)
    }
  }

  /// The same words as those of `outrider call`; a file of its own can't be named, the policy grants them.
  private static func arguments(
    of step: CallStep, _ values: StepValues, _ policy: Policy
  ) throws(HostError) -> [CallArgument] {
    var arguments: [CallArgument] = []
    for (index, (word, kind)) in zip(step.arguments, step.signature.given).enumerated() {
      let value = try values.argument(word, kind) { path throws(HostError) in
        try PluginHost.content(of: path, limit: policy.limits.frameBytes, policy: policy, container: nil)
      }
      guard let value else {
        throw .usage(
          "argument \(index + 1) of \(step.symbol), '\(Printable.text(word, limit: 60))', doesn't fit \(kind)")
      }
      arguments.append(value)
    }
    return arguments
  }
}
