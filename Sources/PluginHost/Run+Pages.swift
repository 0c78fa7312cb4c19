internal import CLinux
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// Keeps a memory cgroup from reclaiming and reading again, without end, the file pages of its runner (`PageInRule`).
extension Run {
  func beginPageIn() {
    guard let cgroup, let faults = meters?.majorFaults() else { return }
    pageIn = PageInRule(hits: cgroup.hits, faults: faults)
    pageReader = PageReader(places: plan.places)
  }

  /// With each sample.
  func considerPageIn(at now: Duration) {
    guard let cgroup, pageIn != nil, cause == nil, watchdog.wallDeadline != nil else { return }
    let hits = cgroup.hits
    guard pageIn?.isPressed(hits: hits, at: now) == true, let faults = meters?.majorFaults(),
      pageIn?.begins(hits: hits, faults: faults, at: now) == true
    else { return }
    guard let reader = pageReader, let maps = meters?.duplicateMaps() else { return pageInEnded(after: .zero) }
    // It would only reclaim meanwhile what is just brought in, and be charged the time. Its wall clock goes on.
    _ = ol_pidfd_signal(pidfd, SIGSTOP)
    let file = maps.release()
    let process = pid
    // Touched on the loop's thread only.
    nonisolated(unsafe) let run = self
    DispatchQueue(label: "outrider.pages").async { [loop] in
      let maps = OwnedDescriptor(taking: file)
      let begun = BootClock.now
      reader.awaitStop(of: process)
      reader.bringIn(filesOf: maps)
      let time = BootClock.now - begun
      loop.submit { run.pageInEnded(after: time) }
    }
  }

  private func pageInEnded(after time: Duration) {
    pageIn?.ended(after: time, at: BootClock.now)
    continueRunner()
  }

  /// Lets a runner go on that the host has stopped, unless something else keeps it.
  func continueRunner() {
    guard report == nil, cause == nil, !watchdog.isFrozen, pageIn?.isUnderWay != true, !sharedLook.isUnderWay else {
      return
    }
    _ = ol_pidfd_signal(pidfd, SIGCONT)
  }
}
