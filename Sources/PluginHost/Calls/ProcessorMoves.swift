/// Decides when a caller that shares a processor with its runner moves to another one. There the two take turns, and each call
/// costs two changes of process; apart, they can spin for each other's words. The kernel leaves them together for long
/// where idle processors are virtual ones that the machine has taken away. A pure value.
struct ProcessorMoves: Equatable {
  enum Event {
    /// A call is about to be made, on the runner's processor or on another one.
    case called(isShared: Bool)
  }

  /// Shared calls before a move: twice as many after each that didn't hold.
  static let gaps = 8...512
  /// A move has held once so many calls in a row came from elsewhere.
  static let proof = 64

  private var gap = gaps.lowerBound
  private var shared = 0
  private var apart = 0

  /// Whether the caller is to move first.
  mutating func handle(_ event: Event) -> Bool {
    switch event {
    case .called(isShared: false):
      apart += 1
      if apart == Self.proof { (gap, shared) = (Self.gaps.lowerBound, 0) }
      return false
    case .called(isShared: true):
      apart = 0
      shared += 1
      guard shared == gap else { return false }
      shared = 0
      gap = min(gap * 2, Self.gaps.upperBound)
      return true
    }
  }
}
