internal import LinuxSystem

/// How long the host reads the files of a plugin that it is about to load. It does so on the plugin's behalf: that time is a
/// part of what the load may take, and however the files are made, it ends then.
struct ReadingTime: Sendable {
  /// What one call may take, loading included.
  let limit: Duration
  private let began = BootClock.now
  /// Whether a caller still waits for it. Any thread.
  private let isWanted: @Sendable () -> Bool

  init(limit: Duration, isWanted: @escaping @Sendable () -> Bool = { true }) {
    self.limit = limit
    self.isWanted = isWanted
  }

  /// For those who read as long as it takes.
  static let unlimited = ReadingTime(limit: .nanoseconds(Int64.max / 2))

  var spent: Duration { BootClock.now - began }
  /// On the boot clock.
  var end: Duration { began + limit }
  var isOver: Bool { spent >= limit || !isWanted() }

  /// Throws once it is over. `path`: what is being read.
  func check(_ path: String) throws(HostError) {
    guard isOver else { return }
    guard isWanted() else { throw .cancelled }
    throw .ended(
      .empty(
        Outcome(
          .wallTimeExceeded,
          "one call may take \(limit.formatted), and reading \(path) before loading it takes longer; allow more time, or remove debug information (strip -g)"
        )))
  }
}
