internal import LinuxSystem

/// Decides which of a plugin's connections are made. A pure value without a clock.
struct RelayAdmission {
  /// What one run may have.
  struct Bounds {
    /// At once.
    var connections = 64
    /// New ones within a second, after a burst of `burst`.
    var perSecond = 100
    var burst = 256
  }

  enum Refusal: Equatable {
    case tooMany(Int)
    case tooFast(Int)

    var words: String {
      switch self {
      case .tooMany(let max): "more than \(max) at once"
      case .tooFast(let max): "more than \(max) a second"
      }
    }
  }

  let bounds: Bounds
  private(set) var open = 0
  /// Connections that may begin now, in nanoseconds of their share of a second.
  private var credit: Int64
  private var last: Duration?

  init(_ bounds: Bounds) {
    self.bounds = bounds
    credit = Int64(bounds.burst) * Self.cost(bounds)
  }

  private static func cost(_ bounds: Bounds) -> Int64 { 1_000_000_000 / Int64(max(bounds.perSecond, 1)) }

  /// Asks for one more; nil: it is made, and `ended` is told in the end.
  mutating func admit(at now: Duration) -> Refusal? {
    let maxCredit = Int64(bounds.burst) * Self.cost(bounds)
    let passed = (now - (last ?? now)).inNanoseconds
    last = now
    credit = min(maxCredit, credit + max(0, min(passed, maxCredit)))
    guard open < bounds.connections else { return .tooMany(bounds.connections) }
    guard credit >= Self.cost(bounds) else { return .tooFast(bounds.perSecond) }
    credit -= Self.cost(bounds)
    open += 1
    return nil
  }

  mutating func ended() { open -= 1 }
}
