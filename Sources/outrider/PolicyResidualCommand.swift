internal import ArgumentParser
internal import AssetModel
internal import PluginHost
internal import PolicyLab
internal import Sandbox

struct PolicyResidualCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "residual", abstract: "Finds out by trying what a plugin can still do under a policy, on this kernel.",
    discussion: """
      Some fifty attempts are made inside the walls, each in a process of its own, and then every system call is made \
      once with arguments that mean nothing. '+' succeeded, '-' didn't, and '?' is allowed and wasn't tried: hosts to \
      connect to, programs to start, patterns. What is tried are usual ways; that one isn't listed doesn't say that it \
      isn't there.

      EXAMPLES
        outrider policy residual
        outrider policy residual computation
        outrider policy residual policy.yaml --json
      """)
  @Argument(
    help: "A policy: a file, or a shipped one by name; without one, what holds by default.",
    completion: .file(extensions: ["yaml", "yml"])) var policy: String?
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let policy = try policy.map(PolicyInput.policy) ?? Policy()
      let host = try SandboxOptions.makeHost()
      defer { host.stop() }
      let residual = try await ResidualRunner(host: host, policy: policy).run()
      host.stop()
      Interrupts.yieldToHandler()
      if json { try Output.json(residual) } else { show(residual) }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private func show(_ residual: Residual) {
    for probe in residual.probes.filter(\.isPossible) + residual.probes.filter({ !$0.isPossible }) {
      let wall = probe.isPossible ? "" : probe.deniedBy.isEmpty ? "  (\(probe.result))" : "  (\(probe.deniedBy[0]))"
      Output.line("\(probe.isPossible ? "+" : "-") \(Printable.text(probe.name + wall, limit: 4200))")
    }
    for words in residual.untried {
      Output.line("? \(Printable.text(words, limit: 4200))  (the policy allows it; not tried)")
    }
    for (words, names) in [
      ("system calls reach the kernel", residual.passed), ("do with certain arguments", residual.byArguments),
      ("are denied", residual.denied),
    ] {
      Output.line("\(names.count) \(words)\(names.isEmpty ? "" : ":")")
      for line in Wrapped.lines(names, width: 77) { Output.line("  \(line)") }
    }
  }
}
