internal import HostProtocol
internal import LinuxSystem

/// The spare runner of the fork server. On the loop, but for `prepare`.
extension HostCore {
  /// Below every run's own timers.
  private static let spareTimer: UInt64 = 1
  private static let waitTimer: UInt64 = 2
  private static let longestWait = Duration.seconds(1)

  /// A call or a run is over.
  func rest() {
    guard keepsSpare, let due = spare.rest(at: BootClock.now) else { return }
    loop.setTimer(Self.spareTimer, at: due) { [weak self] in self?.considerSpare() }
  }

  private func considerSpare() {
    guard let server, server.isAlive else { return }
    let isDue = spare.isDue(
      at: BootClock.now, isBusy: runs.values.contains { $0.waiting != nil || $0.cause != nil },
      deadline: runs.values.compactMap(\.watchdog.wallDeadline).min(),
      isDying: runs.values.contains { $0.cause != nil && $0.report == nil })
    if isDue {
      if spareCgroup == nil { spareCgroup = try? cgroups?.take() }
      server.prepare(in: spareCgroup)
    } else {
      rest()
    }
  }

  /// Whether a run may have the spare: what counts its memory must be what counts the spare's.
  func hasSpare(of server: ForkServerClient, inCgroup: Bool) -> Bool {
    server === self.server && spare.isThere && inCgroup == (spareCgroup != nil)
  }

  /// A run has it now, and its cgroup with it.
  func spareIsTaken() {
    loop.setTimer(Self.spareTimer, at: nil) {}
    spare = SparePlan()
    spareCgroup = nil
  }

  /// Its server is gone.
  func spareIsGone() {
    if let cgroup = spareCgroup { cgroups?.giveBack(cgroup) }
    spareIsTaken()
  }

  func spareArrived() {
    spare.prepared()
    tellThoseWhoWait()
  }

  /// Starts the fork server, if need be, and returns when it has a spare runner, or can't have one.
  func prepare() async throws(HostError) {
    let result: Result<Void, HostError> = await withCheckedContinuation { continuation in
      loop.submit { [self] in
        do throws(HostError) {
          if keepsSpare { _ = try forkServer() }
        } catch {
          return continuation.resume(returning: .failure(error))
        }
        guard keepsSpare, !spare.isReady else { return continuation.resume(returning: .success(())) }
        waitingForSpare.append { continuation.resume(returning: .success(())) }
        loop.setTimer(Self.waitTimer, at: BootClock.now + Self.longestWait) { [weak self] in
          self?.tellThoseWhoWait()
        }
        rest()
      }
    }
    try result.get()
  }

  func tellThoseWhoWait() {
    loop.setTimer(Self.waitTimer, at: nil) {}
    let waiting = waitingForSpare
    waitingForSpare = []
    for tell in waiting { tell() }
  }

  /// A cold host's servers serve one run each, and one without the preloaded library has nothing to make ready.
  private var keepsSpare: Bool { !isCold && preload != nil }
}
