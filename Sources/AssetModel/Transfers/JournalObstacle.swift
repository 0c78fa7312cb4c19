/// An error of a journal that says whom it is about.
public protocol JournalObstacle: Error {
  /// Its volume is full, or fails: every commit fails likewise until that is remedied.
  var isOfVolume: Bool { get }
}
