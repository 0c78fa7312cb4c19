internal import AssetModel
internal import HostProtocol
package import PluginHost
package import Sandbox
internal import Synchronization

/// What a plugin can still do under a policy, on this kernel: found out by trying.
package struct Residual: Sendable, Encodable {
  package struct Probe: Sendable, Encodable {
    package var name: String
    package var call: String
    package var isPossible: Bool
    /// What it returned, or how it ended.
    package var result: String
    /// What kept it from it, where that was seen.
    package var deniedBy: [String]
  }

  package var probes: [Probe] = []
  /// What the policy allows and wasn't tried.
  package var untried: [String] = []
  /// System calls that reach the kernel whatever their arguments are.
  package var passed: [String] = []
  /// Those that the host lets through with certain arguments.
  package var byArguments: [String] = []
  /// Those that fail, or end the run.
  package var denied: [String] = []
}

/// Finds it out.
package struct ResidualRunner: Sendable {
  private let host: PluginHost
  private let policy: Policy

  package init(host: PluginHost, policy: Policy) { (self.host, self.policy) = (host, policy) }

  /// Would end or change the process that tries the others, or waits: the filter is known to let these through.
  private static let untried: Set<String> = [
    "exit", "exit_group", "rt_sigreturn", "restart_syscall", "pause", "rt_sigsuspend", "rt_sigtimedwait",
    "set_tid_address", "umask", "brk",
  ]
  /// As many numbers as architectures have (Linux 6.18).
  private static let numbers = Int32(0)...480

  package func run() async throws -> Residual {
    var residual = Residual()
    let runner = PolicyTestRunner(host: host)
    for test in try ResidualProbes.tests(for: policy) {
      let (observed, _) = try await runner.observe(test, "libc.so.6")
      residual.probes.append(
        Residual.Probe(
          name: test.name, call: test.steps.map(\.text).joined(separator: "; "),
          isPossible: ResidualProbes.hasSucceeded(test, observed),
          result: observed.value.map { "returned \($0)" } ?? observed.outcome.kind.rawValue,
          deniedBy: observed.denials.map { "\($0.wall): \($0.call)" }))
    }
    residual.untried = ResidualProbes.untried(under: policy)
    try await sweep(&residual)
    return residual
  }

  /// Every system call with arguments that mean nothing: what the host denied of them, and what it never saw.
  private func sweep(_ residual: inout Residual) async throws {
    let names = Self.numbers.compactMap { number in SystemCalls.name(of: number).map { (number, $0) } }
    let seen = Denied()
    var options = PluginHost.LoadOptions()
    options.trace = SystemCallTrace { seen.receive($0) }
    var rest = names.filter { !Self.untried.contains($0.1) || policy.systemCalls.refused.contains($0.1) }[...]
    while !rest.isEmpty {
      let plugin = try await host.load("libc.so.6", policy: policy, options: options)
      var isAlive = true
      while isAlive, let (number, _) = rest.popFirst() {
        let arguments = [CallArgument.integer(Int64(number))] + Array(repeating: .integer(-1), count: 6)
        do throws(HostError) {
          _ = try await plugin.call("syscall", "i64(i64,i64,i64,i64,i64,i64,i64)", arguments: arguments)
        } catch {
          // The call that ended it is among those that were seen, where a wall did.
          guard error.report != nil else { throw error }
          isAlive = false
        }
      }
      _ = await plugin.end()
    }
    let denied = seen.names
    for (_, name) in names {
      if SystemCalls.isAnsweredByFilter(name) || denied.contains(name) && !isEverAllowed(name) {
        residual.denied.append(name)
      } else if denied.contains(name) || policy.systemCalls.rules.contains(where: { $0.call == name }) {
        residual.byArguments.append(name)
      } else {
        residual.passed.append(name)
      }
    }
  }

  private func isEverAllowed(_ name: String) -> Bool {
    SystemCalls.isEverAllowed(name) && !policy.systemCalls.refused.contains(name)
  }
}

/// Names of calls that the host denied, received on its thread.
private final class Denied: Sendable {
  private let state = Mutex(Set<String>())

  func receive(_ event: SystemCallTrace.Event) {
    switch event.verdict {
    case .passed, .granted, .refused: break
    case .denied, .ended: state.withLock { _ = $0.insert(event.name) }
    }
  }

  var names: Set<String> { state.withLock { $0 } }
}
