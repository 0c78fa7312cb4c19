internal import ArgumentParser
internal import AssetModel
internal import PluginHost
internal import Sandbox

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "Says of each wall and limit whether this machine and this user have it.",
    discussion: """
      Walls are what a run would have now. Limits are proved: a runner exceeds each on purpose, and one that doesn't \
      bite is reported as not in force. Exit status 69 when a limit doesn't. Of the service it says whether it runs, and \
      whether it could; it starts none.

      EXAMPLE
        outrider doctor --json
      """)

  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  struct Facts: Encodable {
    var sandbox: [String: WallState]
    var meters: [String: String]
    var limits: [Canary.Finding]
    var service: [ServiceHealth.Finding]
  }

  /// What each meter measures with here.
  private static func meters(_ walls: [Wall: WallState]) -> [String: String] {
    [
      "wall": "timerfd on CLOCK_BOOTTIME, on a thread of its own",
      "cpu": "the process's CPU clock, all threads; RLIMIT_CPU behind it",
      "memory": walls[.cgroup]?.state == .full
        ? "the kernel, to the page, and a sampler for the report"
        : "a sampler of RssAnon + shared memory granted and not freed + VmSwap + VmPTE, every millisecond of a call; a burst shows beyond the limit (RLIMIT_DATA ends it at 4 GiB), kernel memory doesn't count",
      "freezing":
        "SIGSTOP through the pidfd, 1 ms after a call; to the group of those that a policy's 'processes' allows",
      "killing": walls[.pidNamespace]?.state == .full
        ? "SIGKILL through the pidfd of the namespace's first process, which takes the tree"
        : "SIGKILL through the pidfd",
      "denials": walls[.seccomp]?.state == .full ? "seccomp's user notification" : "not seen on this kernel",
    ]
  }

  func run() async {
    do {
      let host = try SandboxOptions.parse([]).makeHost()
      // Fails where there is nothing to try a limit with.
      _ = try await host.walls()
      let findings = await Canary(host: host).run()
      let walls = NamespaceSettings.current.explained(try await host.walls(provedBy: findings))
      host.stop()
      let service = await ServiceHealth.read(try service.place()).findings
      if json {
        let facts = Facts(
          sandbox: Dictionary(uniqueKeysWithValues: walls.map { ($0.key.rawValue, $0.value) }),
          meters: Self.meters(walls),
          limits: findings, service: service)
        try Output.json(facts)
      } else {
        Output.table(
          ["WALL", "STATE", "DETAIL"],
          Wall.allCases.map { [$0.rawValue, walls[$0]?.state.rawValue ?? "absent", walls[$0]?.detail ?? ""] })
        Output.line("")
        Output.table(["METER", "BY"], Self.meters(walls).sorted { $0.key < $1.key }.map { [$0.key, $0.value] })
        Output.line("")
        Output.table(
          ["LIMIT", "IN FORCE", "PROOF"],
          findings.map { [$0.limit, $0.isInForce ? "yes" : $0.wasTried ? "NO" : "?", $0.detail] })
        Output.line("")
        Output.table(
          ["SERVICE", "STATE", "DETAIL"], service.map { [$0.part, $0.state, Printable.text($0.detail, limit: 1000)] })
      }
      Exit.leave(findings.allSatisfy(\.isInForce) ? 0 : 69)
    } catch {
      Exit.with(error)
    }
  }
}
