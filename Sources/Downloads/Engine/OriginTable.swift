internal import AssetModel

/// What is known of every origin: its breaker, how long it wants to be left alone, and whether it has ranges.
struct OriginTable {
  struct State {
    var breaker = OriginBreaker()
    /// Boot time before which nothing is asked (`Retry-After`).
    var retryAfter: Duration?
    var retryAfterValue: String?
    var rangelessUntil: Duration?
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
  }

  private var table = NameTable()
  private var states: [State] = []
  /// Origins whose time of fewer requests is over.
  private var calmed: [UInt32] = []

  mutating func takeCalmed() -> [UInt32] {
    defer { calmed = [] }
    return calmed
  }

  mutating func number(of origin: String) -> UInt32 {
    let number = table.number(of: origin)
    if Int(number) == states.count { states.append(State()) }
    return number
  }

  func name(of number: UInt32) -> String { table.names[Int(number)] }

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
