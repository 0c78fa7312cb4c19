extension SystemCalls {
  /// CLONE_THREAD and CLONE_VFORK.
  private static let (threadFlag, waitingFlag): (UInt64, UInt64) = (0x10000, 0x4000)

  /// Whether clone(2) with these flags makes a process, whatever else it does: all but a thread is one.
  package static func makesProcess(_ flags: UInt64) -> Bool { flags & threadFlag == 0 }

  /// Which call a process is made by, as far as its caller is concerned: the C library makes fork(3), posix_spawn(3) and
  /// system(3) with clone(2). nil: it makes a thread.
  static func start(ofClone flags: UInt64) -> String? {
    makesProcess(flags) ? flags & waitingFlag == 0 ? "fork" : "vfork" : nil
  }
}

extension Policy {
  /// Whether a call that is denied ends the run. `argument`: its first one. What ends it for fork(2) does so for the clone(2) that
  /// takes the place of that. clone3(2) has its flags in memory, where they could change after a look: it makes nothing for anyone.
  package func ends(_ call: String, first argument: UInt64) -> Bool {
    if systemCalls.onDenied[call] == .kill { return true }
    guard call == "clone", let start = SystemCalls.start(ofClone: argument) else { return false }
    if systemCalls.onDenied[start] == .kill { return true }
    // Some architectures have clone(2) alone, where the group is what its other calls are.
    let known = SystemCallGroup.named("programs")?.calls.filter(SystemCalls.isKnown) ?? []
    return !known.contains(start) && !known.isEmpty && known.allSatisfy { systemCalls.onDenied[$0] == .kill }
  }

  /// As `lineRefusing`, for a call with that first argument: who may make no threads could make no process without that line either.
  package func lineRefusing(_ call: String, first argument: UInt64) -> String? {
    call == "clone" && processes == 0 && SystemCalls.makesProcess(argument) ? nil : lineRefusing(call)
  }

  /// What of the calls that start a process and its programs it denies beside what holds for every plugin: none can be allowed
  /// beside that.
  package var deniedStarts: [String] {
    (["clone"] + SystemCalls.starting).filter {
      systemCalls.refused.contains($0) || systemCalls.onDenied[$0] == .kill
    }
  }
}
