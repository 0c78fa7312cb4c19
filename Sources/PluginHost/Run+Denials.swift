internal import AssetModel
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// Answers the system calls that the filter hands to the host.
extension Run {
  func receiveNotification() {
    // A flood is answered in portions; between them the deadline is looked at.
    for _ in 0..<32 {
      // Hung up for as long as the process takes to end: nothing to be woken for.
      if ol_is_hung_up(listener) == 1 { return stopListening() }
      guard ol_poll_readable(listener, 0) == 1, answerNotification() else { return }
    }
  }

  func stopListening() {
    if let listenerKey { loop.stop(listenerKey) }
    listenerKey = nil
  }

  func drainListener() {
    while ol_is_hung_up(listener) == 0, ol_poll_readable(listener, 0) == 1, answerNotification() {}
  }

  func answerNotification() -> Bool {
    var call = ol_notification()
    guard ol_seccomp_receive(listener, &call) == 0 else {
      // Hung up: nobody is left to ask.
      return false
    }
    grants.noteCall(from: call.pid)
    // A signal took it out of the call that waited, and it asks anew.
    held.removeAll { $0.call.pid == call.pid }
    answer(call, since: BootClock.now) { true }
    return true
  }

  /// `since`: when it was asked.
  private func answer(_ call: ol_notification, since: Duration, isAnyEnding: () -> Bool) {
    // Before the threads are counted: what counts as begun by then is among them.
    let now = BootClock.now
    let mapsShared = NotificationPolicy.mapsShared(call)
    // Each time: what a grant became is certain as long as there is one alone that isn't known.
    if mapsShared, grants.shared.total > 0 {
      if lookAtOnce(during: call) {
        grants.hasLooked = true
      } else if !grants.hasLooked, !knowsGrants(before: call, asked: since, at: now) {
        hold(call, since: since, at: now)
        return looksForGrant(asked: since, at: now)
      }
    }
    let decision = withoutActuallyEscaping(isAnyEnding) { isAnyEnding in
      NotificationPolicy(
        policy: plan.policy, grants: grants, isLoading: isLoading, hidesFiles: plan.machine.hidesFiles, runner: pid,
        threads: { self.meters?.threads() ?? Int.max },
        isAnyEnding: { now - since < Self.longestEnd && isAnyEnding() },
        now: now
      ).decide(call)
    }
    switch decision {
    case .proceed: break
    case .hold: return hold(call, since: since, at: now)
    case .look:
      hold(call, since: since, at: now)
      return beginLook(using: memory() ?? 0)
    case .grant(let grant): grants.add(grant)
    case .foreign(let name):
      kill(Outcome(.policyViolation, "it made a system call of another architecture (\(name)) \(phase)"))
    case .note(let name, let paths): for argument in paths { note(name, argument, of: call) }
    case .deny(let layer, let name, let target, _, let kills):
      let target = layer == "seccomp" && name == "mmap" ? codeFile(of: call) ?? target : target
      denials.record(layer: layer, operation: name, target: target)
      if kills { kill(Outcome(.policyViolation, "\(name)(\(target)) is denied, and the policy ends a run for it")) }
    }
    if mapsShared { grants.hasLooked = false }
    let code: Int32 =
      switch decision {
      case .deny(_, _, _, let error, _): error
      case .foreign: ENOSYS
      default: 0
      }
    _ = ol_seccomp_answer(listener, call.id, code)
  }

  /// A thread that has been joined is gone by then, whatever else this machine does.
  private static let longestEnd = Duration.milliseconds(100)
  private static let soonestLook = Duration.microseconds(100)
  private static let latestLook = Duration.milliseconds(2)
  /// Looking at every thread takes as long as many other calls' answers: most are gone before that.
  private static let soonestSearch = Duration.microseconds(500)

  /// The thread waits in its call, and the deadlines go on. Each look is about as far from the last as the whole wait has
  /// been long.
  private func hold(_ call: ol_notification, since: Duration, at now: Duration) {
    held.append((call, since))
    let pause = min(max(now - since, Self.soonestLook), Self.latestLook)
    loop.setTimer(key(.held), at: now + pause) { [weak self] in self?.answerHeld() }
  }

  private func answerHeld() {
    guard listener >= 0, report == nil else { return }
    // All of these were asked before, so that one search does for all.
    var found: Bool?
    for (call, since) in exchange(&held, with: []) where ol_seccomp_is_valid(listener, call.id) == 0 {
      answer(call, since: since) {
        guard BootClock.now - since >= Self.soonestSearch else { return true }
        let isAnyEnding = found ?? meters?.isAnyThreadEnding() ?? false
        found = isAnyEnding
        return isAnyEnding
      }
    }
  }

  /// The file whose code a denied mmap(2) wanted; nil: it wanted none of a file, or an ordinary user's run doesn't observe
  /// files. Another thread may have changed what the descriptor is, which only changes what the report says.
  private func codeFile(of call: ol_notification) -> String? {
    guard call.arguments.2 & UInt64(PROT_EXEC) != 0, call.arguments.3 & CallFlags.anonymous == 0,
      let path = Files.link("/proc/\(call.pid)/fd/\(Int32(truncatingIfNeeded: call.arguments.4))"), path.hasPrefix("/"),
      ol_seccomp_is_valid(listener, call.id) == 0
    else { return nil }
    return Printable.text(path)
  }

  /// A path that the plugin named: recorded where it doesn't get there.
  private func note(_ name: String, _ argument: SystemCalls.PathArgument, of call: ol_notification) {
    guard let first = refusedPath(name, argument, of: call) else { return }
    // The thread that asks stands still. Where it is the only one, what is read from here on is what the kernel will read.
    let isShared = (meters?.threads() ?? Int.max) > 1
    guard let path = isShared ? first : refusedPath(name, argument, of: call) else { return }
    denials.record(
      layer: "files", operation: name, target: Printable.text(path),
      writes: SystemCalls.writes(name, flags: openFlags(of: name, call)), mayHaveChanged: isShared)
  }

  private func refusedPath(
    _ name: String, _ argument: SystemCalls.PathArgument, of call: ol_notification
  ) -> String? {
    guard let path = path(of: call, argument), path.hasPrefix("/") else { return nil }
    let flags = openFlags(of: name, call)
    let view = FileView(plan, root: "/proc/\(call.pid)/root")
    let isRefused = view.refuses(
      path, to: name, makesFile: flags.map { SystemCalls.makesFile(name, flags: $0) } ?? false)
    return isRefused ? path : nil
  }

  /// Of a call that may make a file.
  private func openFlags(of name: String, _ call: ol_notification) -> UInt64? {
    SystemCalls.modeArgument(of: name).map { name == "creat" ? 0 : value($0 - 1, of: call) }
  }

  private func value(_ index: UInt32, of call: ol_notification) -> UInt64 {
    withUnsafeBytes(of: call.arguments) { $0.load(fromByteOffset: Int(index) * 8, as: UInt64.self) }
  }

  /// From the root of the runner's view, as far as that can be told.
  private func path(of call: ol_notification, _ argument: SystemCalls.PathArgument) -> String? {
    guard let path = text(at: value(UInt32(argument.path), of: call), of: call), !path.isEmpty else { return nil }
    if path.hasPrefix("/") { return path }
    // The kernel reads the low half of a descriptor.
    let folder = argument.folder.map { Int32(truncatingIfNeeded: value(UInt32($0), of: call)) } ?? AT_FDCWD
    let name = folder == AT_FDCWD ? "cwd" : "fd/\(folder)"
    guard let start = Files.link("/proc/\(call.pid)/\(name)"), start.hasPrefix("/"),
      ol_seccomp_is_valid(listener, call.id) == 0
    else { return path }
    return "\(start == "/" ? "" : start)/\(path)"
  }

  private func text(at address: UInt64, of call: ol_notification) -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    // The number names a thread of our runner as long as the notification is valid.
    guard ol_read_remote_string(pid_t(call.pid), address, &buffer, buffer.count) == 0,
      ol_seccomp_is_valid(listener, call.id) == 0
    else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
