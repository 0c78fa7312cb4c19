internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// Decides how a run ended whose process went without the host having ended it.
struct EndRule {
  /// What was under way, as the end of a sentence.
  var phase: String
  /// Whether every wall was closed: before that nothing of the plugin runs.
  var hadBegun = true
  /// The memory limit in bytes, where the kernel ended the process for it.
  var exceededMemory: Int?
  /// Whether the kernel ended it because the machine, or a group of processes around it, had no memory left.
  var lackedMemory = false
  /// All threads together may use this much, which the kernel's own limit lies above.
  var cpuTotal = Duration.seconds(Int64.max)
  /// Whether the filter ends a process by itself, for a call of another architecture: where it has no listener. Elsewhere the
  /// host ends it, and a SIGSYS is one that the plugin sent itself.
  var filterKills = false
  var lastWord: LastWord?
  /// Whether it may execute programs: in its own process, one would take the plugin's place.
  var startsPrograms = false
  /// Whether the library was made with a sanitizer, and runs behind walls.
  var hasSanitizerInWalls = false
  /// The file that was being loaded, where it is cut short: then there is no code where its loader looks for some (mmap(2), SIGBUS).
  var cutShort: String?

  /// What the runner said of its end while it could. The plugin's word, too.
  enum LastWord: Equatable {
    case crashed(RunnerMessage.CrashSite)
    /// `call`: the name of what was called.
    case wildPointer(RunnerMessage.WildPointer, call: String)
    case reenteredCallback
  }

  func outcome(of exit: ServerEvent.Exit) -> Outcome {
    if let memoryOutcome { return memoryOutcome }
    let signal = exit.wasSignalled ? exit.status : 0
    if signal == SIGSYS, filterKills {
      return Outcome(
        .policyViolation,
        "it made a system call of another architecture \(phase), or sent itself SIGSYS: no filter of this kernel tells which"
      )
    }
    // Either signal may be the plugin's own, too.
    if [SIGXCPU, SIGKILL].contains(signal), Duration.nanoseconds(Int64(clamping: exit.cpuNanoseconds)) >= cpuTotal {
      return Outcome(.cpuTimeExceeded, "the kernel's CPU limit \(phase)")
    }
    let end = exit.wasSignalled ? "ended by \(CrashText.signal(signal))" : "exited with status \(exit.status)"
    guard hadBegun else {
      return Outcome(.hostFailed, "the runner \(end) before anything of the plugin was loaded")
    }
    if lastWord == nil, !exit.wasSignalled, exit.status == RunnerExit.channelLost { return channelClosed }
    switch lastWord {
    case .crashed(let site) where site.signal == SIGBUS && cutShort != nil:
      return Outcome(.loadFailed, "\(cutShort ?? "") is cut short: it has less than its own headers say; copy it again")
    case .crashed(let site) where site.signal != 0:
      return Outcome(
        .crashed, "\(CrashText.describe(site)) \(phase)",
        cause: hasSanitizerInWalls ? .sanitizer : CrashText.isUnaligned(site) ? .alignmentCheck : nil)
    case .wildPointer(let pointer, let call): return Outcome(.crashed, CrashText.describe(pointer, call: call))
    case .reenteredCallback:
      return Outcome(
        .crashed,
        "it called a function of the host's on a thread on which one was under way \(phase): in a signal handler, or after it had jumped out of that one"
      )
    // A call of exit(3) tells who made it.
    case .crashed, nil:
      return Outcome(
        .crashed, "\(end) \(phase)" + (startsPrograms && !exit.wasSignalled ? Self.ownProcess : ""),
        cause: hasSanitizerInWalls
          ? .sanitizer : [SIGSEGV, SIGBUS, SIGILL, SIGFPE].contains(signal) ? .faultWithoutPlace : nil)
    }
  }

  /// What a plugin may have done that ends without a word.
  static let ownProcess =
    "; should it have executed a program in its own process, that took the plugin's place: fork(2) or posix_spawn(3) give a program its own"

  /// What has closed the runner's end of it, while that went on or so that it ended.
  var channelClosed: Outcome {
    Outcome(.protocolViolation, "the plugin closed its channel" + (startsPrograms ? Self.ownProcess : ""))
  }

  /// How it ended where the kernel ended it, or one of its processes, for memory; nil: it didn't.
  var memoryOutcome: Outcome? {
    if let limit = exceededMemory {
      return Outcome(
        .memoryExceeded, "the kernel ended it \(phase): it had all of its \(limit >> 10) KiB and wanted more")
    }
    if lackedMemory {
      return Outcome(
        .hostFailed,
        "the kernel ended it \(phase): the machine, or the cgroup that the host is in, had no memory left; the plugin hadn't used all of its own"
      )
    }
    return nil
  }
}
