internal import LinuxSystem
internal import Synchronization

/// Brings into the page cache what loading a plugin reads, before a runner has to wait for it (`PageInRule` says why the host
/// does that). Nothing is asked of the disk where it is there already.
enum LoadPages {
  /// For so long it stays there on most machines; what doesn't is brought in while the plugin is at work.
  private static let freshness = Duration.seconds(10)
  private static let maxKnown = 256
  private static let known = Mutex<[FileIdentity: Duration]>([:])

  /// Whether an image hasn't been looked after for a while. Any thread.
  static func areDue(for image: PluginImage) -> Bool {
    known.withLock { known in
      let now = BootClock.now
      if let last = known[image.library.identity], now - last < freshness { return false }
      if known.count >= maxKnown { known.removeAll() }
      known[image.library.identity] = now
      return true
    }
  }

  /// Blocks until they are there, at most for so long and for `PageInRule.longestTurn` of asking. Returns how long it was.
  static func bringIn(for image: PluginImage, within limit: Duration) -> Duration {
    let reading = ReadingTime(limit: min(limit, PageInRule.longestTurn))
    PageReader(places: ViewPlaces([])).bringIn(
      closureOf: ([image.library] + image.neighbours).map(\.path), reading: reading)
    return reading.spent
  }
}
