/// An error of a journal that says whom it is about.
public protocol JournalObstacle: Error {
  /// Its volume is full, or fails: every commit fails likewise until somebody does something about that.
  var isOfVolume: Bool { get }
}
