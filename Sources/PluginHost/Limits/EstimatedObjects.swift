/// Kernel objects of one kind that a run holds, which no limit of the kernel counts. A pure value.
///
/// Whether a call takes some or gives some back isn't seen: it may lie in memory that the plugin can change meanwhile, and
/// closing a file gives back too. So each call counts as taking as many as one can, and when there seem to be too many, they are
/// counted. Until the next count may be made, the plugin waits: what it gave back isn't known yet.
struct EstimatedObjects: Equatable {
  let max: Int
  let maxTakenByOne: Int
  private(set) var held = 0
  private var notBefore = Duration.zero
  /// Whether the last count found about as many as there may be: then there is no reason to wait for the next one.
  private var isFull = false

  /// A plugin that stays at the limit has its host count for no more than one part in five of the time.
  private static let restPerCount = 4
  /// With fewer than one in so many left, what is left isn't worth waiting for: each count finds half of it.
  static let worthless = 32

  init(max: Int, maxTakenByOne: Int) { (self.max, self.maxTakenByOne) = (max, maxTakenByOne) }

  enum Verdict: Equatable {
    case room
    /// Counting may find room.
    case count
    /// It may later on.
    case wait
    case full
  }

  func verdict(at now: Duration) -> Verdict {
    if hasRoom { return .room }
    if now > notBefore { return .count }
    return isFull ? .full : .wait
  }

  private var hasRoom: Bool { held + maxTakenByOne <= max }

  mutating func add() { held += maxTakenByOne }

  /// `found`: as the kernel lists them; nil where it can't be told. `threads`: each may be on its way into a call that was granted
  /// before.
  mutating func count(_ found: Int?, threads: Int, at now: Duration, cost: Duration) {
    notBefore = now + cost * Self.restPerCount
    if let found { held = min(held, found + threads * maxTakenByOne) }
    isFull = held + max / Self.worthless > max
  }
}
