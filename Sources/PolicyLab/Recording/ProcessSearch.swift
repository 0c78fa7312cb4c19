internal import Basics
internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// Finds out how many processes a plugin needs beside its own. A pure value.
struct ProcessSearch {
  /// Otherwise what it starts is only named.
  let isGranted: Bool

  /// Another process, or twice as many as were too few.
  func handle(_ round: [Observed], _ policy: inout Policy, _ recording: inout Recording) -> Bool {
    let before = policy.processes
    for denial in round.flatMap(\.denials) {
      let isFirst = denial.wall == "seccomp" && SystemCalls.startsProcess(denial.call, shown: denial.target)
      let isExecution = denial.call == "execve" && denial.target.isAbsolutePath
      guard isGranted else {
        if isFirst { recording.add(.refused("--processes lets it start them"), "processes", denial) }
        if isExecution { recording.add(.refused("--processes lets it start that"), denial.target, denial) }
        continue
      }
      if isFirst || isExecution { policy.processes = max(before, 1) }
      if denial.wall == "limits", denial.call == "fork" {
        policy.processes = max(before, DeniedProcesses(denial.target).enough(upTo: Policy.maxProcesses))
      }
    }
    return policy.processes != before
  }

  /// Twice as many as were seen: whether three that follow each other quickly are there at one moment is another matter each time.
  func leaveRoom(_ round: [Observed], _ policy: inout Policy) {
    guard isGranted else { return }
    let seen = round.map(\.processes).max() ?? 0
    policy.processes = max(policy.processes, min(seen * 2, Policy.maxProcesses))
  }
}
