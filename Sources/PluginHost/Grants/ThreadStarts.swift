/// Threads that were granted and that may not have begun, by who makes each: until it has begun it isn't listed, and many may be
/// asked for at once.
/// A pure value.
struct ThreadStarts: Equatable {
  /// A granted thread has begun by then where its maker didn't have to wait for a processor.
  static let soon = Duration.milliseconds(10)
  /// Who wants another thread waits so long to be told whether the last one has begun.
  static let longestWait = Duration.seconds(1)

  private struct Start: Equatable {
    var at: Duration
    /// Of a processor, by its maker, before it was granted; nil where that can't be told.
    var used: Duration?
  }

  private var starts: [UInt32: Start] = [:]

  var isEmpty: Bool { starts.isEmpty }
  var count: Int { starts.count }

  mutating func add(by maker: UInt32, at now: Duration, used: Duration?) { starts[maker] = Start(at: now, used: used) }

  /// A thread that makes a system call has made the thread that it wanted before.
  mutating func noteCall(from maker: UInt32) { starts[maker] = nil }

  /// Forgets those that have begun. `hasBegun`: asked of the older ones, with what the maker had used before.
  mutating func forgetBegun(at now: Duration, hasBegun: (UInt32, Duration?) -> Bool) {
    starts = starts.filter { maker, start in now - start.at < Self.soon || !hasBegun(maker, start.used) }
  }

  /// Whether it will soon be known of one.
  func isAnyRecent(at now: Duration) -> Bool { starts.values.contains { now - $0.at < Self.longestWait } }
}
