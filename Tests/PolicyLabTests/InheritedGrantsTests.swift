import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

/// What a recorded policy says of the policy that recording started from.
@Suite(.timeLimit(.minutes(1))) struct InheritedGrantsTests: RecorderScene {
  private static func text(_ base: Policy, _ last: Observed) throws -> String {
    var recorder = PolicyRecorder(base: base)
    guard case .run = recorder.handle([last], on: machine),
      case .finished(let recording) = recorder.handle([last], on: machine)
    else { throw MissingStep() }
    return PolicyText(recording, command: "x").text
  }

  @Test("each inherited line says whether the last round used it, so that a reader can take out what it didn't")
  func lines() throws {
    let base = try Policy(
      parsing: """
        version: 2
        files:
          read: [/data/used, /data/idle, "/data/*.used", "/data/*.idle"]
          execute: [/lib/used.so, /lib/idle.so]
        executableMemory: later
        environment: [LANG]
        network: ["used.example:443", "idle.example:443"]
        processes: 3
        limits: {openFiles: 512}
        """, file: "base")
    var last = Self.observed()
    last.usedGrants = ["/data/used", "/data/a.used", "/lib/used.so"]
    var used = RunReport.Connection(target: "used.example:443")
    used.count = 2
    last.connections = [used]
    let text = try Self.text(base, last)
    let idle = "  # inherited, and not used in the last round\n"
    for line in ["/data/idle", "\"/data/*.idle\"", "/lib/idle.so", "\"idle.example:443\""] {
      #expect(text.contains("- \(line)\(idle)"), "\(line) in \(text)")
    }
    #expect(text.contains("processes: 3\(idle)"), "\(text)")
    for line in ["/data/used", "\"/data/*.used\"", "/lib/used.so"] {
      #expect(text.contains("- \(line)  # inherited, and used in the last round\n"), "\(line) in \(text)")
    }
    #expect(text.contains("- \"used.example:443\"  # inherited; connect × 2\n"), "\(text)")
    #expect(text.contains("- LANG  # inherited; whether a plugin reads it isn't seen\n"), "\(text)")
    #expect(text.contains("# Lines without a comment are as in the policy that recording started from."), "\(text)")
    last.processes = 2
    #expect(try Self.text(base, last).contains("processes: 3  # the last round had 2 at one time\n"))
    // Where recording didn't look, nothing is said.
    last.usedGrants = nil
    #expect(try !Self.text(base, last).contains("/data/idle  #"))
  }

  @Test("a policy that was recorded from nothing says nothing of others") func nothing() throws {
    var last = Self.observed()
    last.usedGrants = []
    let text = try Self.text(Policy(), last)
    #expect(!text.contains("inherited") && !text.contains("started from"), "\(text)")
  }

  @Test("what the last round was denied and no round was run under yet isn't still denied") func untried() throws {
    var recorder = PolicyRecorder(base: Policy())
    let denials = [Self.file("/data/a"), Self.file("/etc/shadow")]
    guard case .run = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
      throw MissingStep()
    }
    #expect(recorder.soFar.grantedSince.map(\.target) == ["/data/a"])
    #expect(recorder.soFar.denials.map(\.target) == ["/etc/shadow"])
    // Granted in the round that was denied it.
    _ = recorder.handle([Self.observed(.returned, denials)], on: Self.machine)
    #expect(recorder.soFar.grantedSince.isEmpty)
    #expect(recorder.soFar.denials.map(\.target) == ["/data/a", "/etc/shadow"])
  }
}
