internal import LinuxSystem
internal import Synchronization

/// Brings into the page cache what loading a plugin reads, before a runner has to wait for it (`PageInRule` says why the host
/// does that). Nothing is asked of the disk where it is there already.
enum LoadPages {
  /// For so long it stays there on most machines; what doesn't is brought in while the plugin is at work.
  private static let freshness = Duration.seconds(10)
  private static let maxKnown = 256

  private struct Known {
    var time: Duration
    /// Places that were in the cache then; none as long as they are being brought in.
    var places: [UInt64]
  }

  private static let known = Mutex<[FileIdentity: Known]>([:])

  /// Whether a library isn't in the cache, or hasn't been looked after for a while. Any thread.
  static func areDue(for library: FileIdentity, at path: String) -> Bool {
    let now = BootClock.now
    let places: [UInt64]? = known.withLock { known in
      if let last = known[library], now - last.time < freshness { return last.places }
      note(library, [], &known)
      return nil
    }
    guard let places else { return true }
    if places.isEmpty { return false }
    guard let file = PageFile(path), file.identity == library else { return false }
    return !file.isCached(at: places)
  }

  private static func note(_ library: FileIdentity, _ places: [UInt64], _ known: inout [FileIdentity: Known]) {
    if known.count >= maxKnown { known.removeAll() }
    known[library] = Known(time: BootClock.now, places: places)
  }

  /// Blocks until they are there, at most for so long and for `PageInRule.longestTurn` of asking. Returns how long it was.
  static func bringIn(for image: PluginImage, within limit: Duration) -> Duration {
    let reading = ReadingTime(limit: min(limit, PageInRule.longestTurn))
    note(
      PageReader(places: ViewPlaces([])).bringIn(
        closureOf: ([image.library] + image.neighbours).map(\.path), reading: reading))
    return reading.spent
  }

  /// The same for a library that a plugin opens itself. Blocks.
  static func bringIn(_ library: String, _ reader: PageReader) {
    note(reader.bringIn(closureOf: [library]))
  }

  private static func note(_ broughtIn: [FileIdentity: [UInt64]]) {
    known.withLock { known in
      for (library, places) in broughtIn { note(library, places, &known) }
    }
  }
}
