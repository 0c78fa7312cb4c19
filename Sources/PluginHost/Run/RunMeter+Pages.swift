internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// The file pages of a runner that a memory cgroup counts, and what the host has brought in of them.
struct RunPages {
  var rule: PageInRule
  let reader: PageReader
  /// Where what the plugin sees lies on the machine.
  let places: ViewPlaces
  /// Code that is being brought in, and that threads wait for.
  var awaited: Set<String> = []
  /// How long that took in all.
  var spentOnCode = Duration.zero
}

/// Keeps a memory cgroup from reclaiming and reading again, without end, the file pages of its runner (`PageInRule`).
extension RunMeter {
  /// What a run does while its pages are brought in.
  struct PageInHandlers {
    /// Stops the runner.
    var stop: () -> Void
    /// They are there: lets it go on. On the loop.
    var ended: () -> Void
  }

  func beginPageIn(_ places: ViewPlaces) {
    guard let cgroup, let faults = majorFaults else { return }
    pages = RunPages(
      rule: PageInRule(hits: cgroup.hits, faults: faults), reader: PageReader(places: places), places: places)
  }

  /// With each sample of a call.
  func considerPageIn(at now: Duration, _ loop: EventLoop, _ handlers: PageInHandlers) {
    guard let cgroup, pages != nil, let process else { return }
    let hits = cgroup.hits
    guard pages?.rule.isPressed(hits: hits, at: now) == true, let faults = majorFaults,
      pages?.rule.begins(hits: hits, faults: faults, at: now) == true
    else { return }
    guard let reader = pages?.reader, let maps = duplicateMaps() else { return pageInEnded(after: .zero, handlers) }
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
    pages?.rule.ended(after: time, at: BootClock.now)
    handlers.ended()
  }

  /// Whether a thread that maps code of `path`, as the plugin sees it, has to wait, since the host brings that library in, with what
  /// it needs. Nothing of it is touched before its code is mapped. Where the disk's window for reading ahead (queue/read_ahead_kb) is
  /// as large as the limit, the first touch would fill the cgroup with pages that are still being read and can't be reclaimed, and
  /// the kernel would end the plugin at the next page that it needs of its own.
  func awaitsCode(_ path: String, _ loop: EventLoop) -> Bool {
    guard let pages else { return false }
    if pages.awaited.contains(path) { return true }
    let place = pages.places.machinePath(of: path)
    // Whoever could put a link there would have the host look at what it leads to.
    guard pages.spentOnCode < PageInRule.maxTime, let identity = PageFile(place)?.identity,
      LoadPages.areDue(for: identity, at: place)
    else { return false }
    self.pages?.awaited.insert(path)
    // Touched on the loop's thread only.
    nonisolated(unsafe) let meter = self
    DispatchQueue(label: "outrider.pages").async { [reader = pages.reader] in
      let begun = BootClock.now
      LoadPages.bringIn(place, reader)
      let time = BootClock.now - begun
      loop.submit {
        meter.pages?.awaited.remove(path)
        meter.pages?.spentOnCode += time
      }
    }
    return true
  }
}
