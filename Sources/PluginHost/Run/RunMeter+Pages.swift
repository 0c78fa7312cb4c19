internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// Keeps a memory cgroup from reclaiming and reading again, without end, the file pages of its runner (`PageInRule`).
extension RunMeter {
  /// What a run does while its pages are brought in.
  struct PageInHandlers {
    /// Stops the runner.
    var stop: () -> Void
    /// They are there: lets it go on. On the loop.
    var ended: () -> Void
  }

  /// `places`: where what the plugin sees lies on the machine.
  func beginPageIn(_ places: ViewPlaces) {
    guard let cgroup, let faults = majorFaults else { return }
    pageIn = PageInRule(hits: cgroup.hits, faults: faults)
    pageReader = PageReader(places: places)
  }

  /// With each sample of a call.
  func considerPageIn(at now: Duration, _ loop: EventLoop, _ handlers: PageInHandlers) {
    guard let cgroup, pageIn != nil, let process else { return }
    let hits = cgroup.hits
    guard pageIn?.isPressed(hits: hits, at: now) == true, let faults = majorFaults,
      pageIn?.begins(hits: hits, faults: faults, at: now) == true
    else { return }
    guard let reader = pageReader, let maps = duplicateMaps() else { return pageInEnded(after: .zero, handlers) }
    // It would only reclaim meanwhile what is just brought in, and be charged the time. Its wall clock goes on.
    handlers.stop()
    let file = maps.release()
    // Touched on the loop's thread only.
    nonisolated(unsafe) let meter = (self, handlers)
    DispatchQueue(label: "outrider.pages").async {
      let maps = OwnedDescriptor(taking: file)
      let begun = BootClock.now
      reader.awaitStop(of: process)
      reader.bringIn(filesOf: maps)
      let time = BootClock.now - begun
      loop.submit { meter.0.pageInEnded(after: time, meter.1) }
    }
  }

  private func pageInEnded(after time: Duration, _ handlers: PageInHandlers) {
    pageIn?.ended(after: time, at: BootClock.now)
    handlers.ended()
  }
}
