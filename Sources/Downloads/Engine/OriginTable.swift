internal import AssetModel

/// What is known of origins: their breakers, how long they want to be left alone, and whether they have ranges. Whoever
/// redirects may name as many hosts as he likes, so of those that no job waits at only `maxUnused` are remembered, the ones
/// that were used last.
struct OriginTable {
  static let maxUnused = 512

  struct State {
    var breaker = OriginBreaker()
    /// Boot time before which nothing is asked (`Retry-After`).
    var retryAfter: Duration?
    var retryAfterValue: String?
    var rangelessUntil: Duration?
    /// How it has to be asked for ranges until then, where not by `If-Range`.
    var rangeCondition: RangeCondition?
    var rangeConditionUntil: Duration?
    /// The address that files stay with which change from one to the other.
    var edge: String?
    /// How often it asked for calm (HTTP/2): from the second on, HTTP/1.1.
    var calmings = 0
    /// Until then it has fewer connections at once.
    var calmUntil: Duration?
    /// Never is a weaker scheme answered than one that was offered; a proxy has an entry of its own.
    var strongestOffered: Challenge.Strength?
    /// Its HTTP/2 isn't trusted before.
    var leavesHTTP2Until: Duration?

    fileprivate var isBlank: Bool {
      retryAfter == nil && rangelessUntil == nil && rangeCondition == nil && edge == nil && calmings == 0
        && calmUntil == nil && strongestOffered == nil && leavesHTTP2Until == nil && breaker.failures == 0
        && breaker.opensAt == nil
    }
  }

  private var numbers: [String: UInt32] = [:]
  /// By number; empty ones are free for another origin.
  private var names: [String] = []
  private var states: [State] = []
  private var lastUse: [UInt64] = []
  private var free: [UInt32] = []
  private var uses: UInt64 = 0
  /// How many there may be before it is looked at which of them are in use.
  private var limit = 2 * maxUnused
  /// Origins whose time of fewer requests is over.
  private var calmed: [UInt32] = []

  mutating func takeCalmed() -> [UInt32] {
    defer { calmed = [] }
    return calmed
  }

  /// Stays this origin's until `forget` is called without it.
  mutating func number(of origin: String) -> UInt32 {
    uses += 1
    if let number = numbers[origin] {
      lastUse[Int(number)] = uses
      return number
    }
    let number = free.popLast() ?? UInt32(states.count)
    if Int(number) == states.count {
      names.append("")
      states.append(State())
      lastUse.append(0)
    }
    names[Int(number)] = origin
    lastUse[Int(number)] = uses
    numbers[origin] = number
    return number
  }

  func name(of number: UInt32) -> String { names[Int(number)] }

  var count: Int { numbers.count }
  var isCrowded: Bool { numbers.count > limit }

  /// Forgets origins that aren't `used`, those first of which nothing is known, and then those that weren't used for longest.
  mutating func forget(except used: Set<UInt32>) {
    let unused = numbers.values.filter { !used.contains($0) }.sorted {
      let (left, right) = (Int($0), Int($1))
      let (isBlank, otherIsBlank) = (states[left].isBlank, states[right].isBlank)
      return isBlank == otherIsBlank ? lastUse[left] < lastUse[right] : isBlank
    }
    for number in unused.dropLast(Self.maxUnused) {
      // What the scheduler keeps of it goes, too.
      if states[Int(number)].calmUntil != nil { calmed.append(number) }
      numbers[names[Int(number)]] = nil
      names[Int(number)] = ""
      states[Int(number)] = State()
      free.append(number)
    }
    // As many again may come before the next look: it costs a look at every job.
    limit = 2 * max(Self.maxUnused, numbers.count)
  }

  subscript(_ number: UInt32) -> State {
    get { states[Int(number)] }
    set { states[Int(number)] = newValue }
  }

  /// Whether the origin said when it may be asked again.
  func asksToWait(_ number: UInt32, now: Duration) -> Bool { states[Int(number)].retryAfter.map { $0 > now } ?? false }

  func isBlocked(_ number: UInt32, now: Duration) -> Bool {
    asksToWait(number, now: now) || !states[Int(number)].breaker.permits(now: now)
  }

  mutating func started(_ number: UInt32, job: JobID, now: Duration) {
    states[Int(number)].breaker.began(job: job, now: now)
  }

  mutating func ended(_ number: UInt32, job: JobID) { states[Int(number)].breaker.ended(job: job) }

  /// The network changed: every closed road is tried.
  mutating func hurry(now: Duration) { for index in states.indices { states[index].breaker.hurry(now: now) } }

  /// Moments at which a blocked origin may be asked again.
  var reopenings: [Duration] {
    states.compactMap { state in
      [state.retryAfter, state.breaker.nextChange, state.calmUntil].compactMap { $0 }.min()
    }
  }

  /// Forgets waits that are over. Whether there were any.
  mutating func reopen(_ now: Duration) -> Bool {
    var any = false
    for index in states.indices {
      if let until = states[index].retryAfter, until <= now {
        states[index].retryAfter = nil
        states[index].retryAfterValue = nil
        any = true
      }
      if let until = states[index].rangelessUntil, until <= now { states[index].rangelessUntil = nil }
      if let until = states[index].rangeConditionUntil, until <= now {
        states[index].rangeCondition = nil
        states[index].rangeConditionUntil = nil
      }
      if let until = states[index].leavesHTTP2Until, until <= now { states[index].leavesHTTP2Until = nil }
      if let until = states[index].calmUntil, until <= now {
        states[index].calmUntil = nil
        calmed.append(UInt32(index))
        any = true
      }
      if states[index].breaker.becameHalfOpen(now: now) { any = true }
    }
    return any
  }
}
