internal import AssetModel
internal import HostProtocol
package import PluginHost
internal import Sandbox

/// How one test ended.
package struct PolicyTestResult: Sendable {
  package struct Line: Sendable {
    package var expectation: String
    /// What was seen instead; nil: it holds.
    package var objection: String?
  }

  package var file: String
  package var line: Int
  package var name: String
  /// What was called, as on the command line.
  package var call: String
  package var observed: Observed
  package var lines: [Line]
  package var isAsExpected: Bool { lines.allSatisfy { $0.objection == nil } }
}

/// Runs tests one after the other, each in a process of its own under the real walls.
package struct PolicyTestRunner: Sendable {
  private let host: PluginHost

  package init(host: PluginHost) { self.host = host }

  /// `library`: as `PluginHost.load` takes it. Throws where the host, and not the library, is at fault.
  package func run(_ test: PolicyTests.Test, of file: String, library: String) async throws(HostError)
    -> PolicyTestResult
  {
    let observed = try await observe(test, library)
    return PolicyTestResult(
      file: file, line: test.line, name: test.name,
      call: ([test.symbol, test.signature] + test.arguments).joined(separator: " "), observed: observed,
      lines: test.expectations.map { .init(expectation: $0.text, objection: $0.objection(to: observed)) })
  }

  private func observe(_ test: PolicyTests.Test, _ library: String) async throws(HostError) -> Observed {
    let arguments = try Self.arguments(test)
    let plugin: Plugin
    do throws(HostError) {
      plugin = try await host.load(library, policy: test.policy)
    } catch {
      guard let report = error.report else { throw error }
      return Observed(report, nil)
    }
    var result: RunnerMessage.CallResult?
    var missing: String?
    do throws(HostError) {
      result = try await plugin.call(test.symbol, test.signature, arguments: arguments)
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
    return Observed(report, result)
  }

  /// The same words as those of `outrider call`; a file of its own can't be named, the policy grants them.
  package static func arguments(_ test: PolicyTests.Test) throws(HostError) -> [CallArgument] {
    let signature: CallSignature
    do { signature = try CallSignature(parsing: test.signature) } catch { throw .usage("\(error)") }
    let kinds = signature.arguments.filter { if case .out = $0 { false } else { true } }
    guard kinds.count == test.arguments.count else {
      throw .usage(
        "\(signature) takes \(kinds.count) arguments (out(N) takes none); the test has \(test.arguments.count)")
    }
    var arguments: [CallArgument] = []
    for (index, (word, kind)) in zip(test.arguments, kinds).enumerated() {
      let value = try CallWords.argument(word, kind) { path throws(HostError) in
        try PluginHost.content(of: path, limit: test.policy.limits.frameBytes, policy: test.policy, container: nil)
      }
      guard let value else {
        throw .usage("argument \(index + 1), '\(Printable.text(word, limit: 60))', doesn't fit \(kind)")
      }
      arguments.append(value)
    }
    try PluginHost.check(test.symbol, test.signature, arguments: arguments, policy: test.policy)
    return arguments
  }
}
