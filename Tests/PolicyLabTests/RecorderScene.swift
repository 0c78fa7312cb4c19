import PluginHost
import Sandbox

@testable import PolicyLab

/// What the tests of recording say was seen in a round, and what there is on their machine.
protocol RecorderScene {}

extension RecorderScene {
  static func observed(
    _ kind: Outcome.Kind = .returned, _ denials: [Observed.Denial] = [], value: String? = "0",
    memory: Int = 300 << 10
  ) -> Observed {
    var observed = Observed(outcome: Outcome(kind, ""))
    observed.value = kind == .returned ? value : nil
    (observed.denials, observed.memoryBytes) = (denials, memory)
    (observed.wallSeconds, observed.cpuSeconds) = (0.25, 0.01)
    return observed
  }

  static func file(_ path: String, _ call: String = "openat", writes: Bool = false) -> Observed.Denial {
    var denial = Observed.Denial(wall: "files", call: call, target: path)
    denial.writes = writes
    return denial
  }

  /// What ends in `d` is a folder, what ends in `0` isn't there.
  static func kind(_ path: String) -> PolicyRecorder.PathKind {
    path.hasSuffix("d") ? .folder : path.hasSuffix("0") ? .absent : .file
  }

  /// What begins with /link leads to /etc.
  static var machine: PolicyRecorder.Machine {
    PolicyRecorder.Machine(kind: kind) { path in
      path == "/link" || path.hasPrefix("/link/") ? "/etc" + path.dropFirst(5) : path
    }
  }
}

/// The recorder took another step than the test has.
struct MissingStep: Error {}
