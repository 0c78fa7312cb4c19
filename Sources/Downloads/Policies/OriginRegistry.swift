internal import AssetModel

/// Origins by number, and what is known of each. A redirect may name any host, so of the origins that no job waits for only
/// `maxUnused` are remembered, the most recently used ones.
struct OriginRegistry {
  static let maxUnused = 512

  private var numbers: [String: UInt32] = [:]
  /// By number; empty ones are free for another origin.
  private var names: [String] = []
  private var states: [OriginState] = []
  private var lastUse: [UInt64] = []
  private var free: [UInt32] = []
  private var uses: UInt64 = 0
  /// How many there may be before it is looked at which of them are in use.
  private var limit = 2 * maxUnused
  /// Origins whose time of fewer requests is over.
  private var restored: [UInt32] = []

  mutating func takeRestored() -> [UInt32] {
    defer { restored = [] }
    return restored
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
      states.append(OriginState())
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
      if states[Int(number)].hasReducedConcurrency { restored.append(number) }
      numbers[names[Int(number)]] = nil
      names[Int(number)] = ""
      states[Int(number)] = OriginState()
      free.append(number)
    }
    // As many again may come before the next look: it costs a look at every job.
    limit = 2 * max(Self.maxUnused, numbers.count)
  }

  subscript(_ number: UInt32) -> OriginState {
    get { states[Int(number)] }
    _modify { yield &states[Int(number)] }
  }

  mutating func started(_ number: UInt32, job: JobID, now: Duration) { self[number].breaker.began(job: job, now: now) }

  mutating func ended(_ number: UInt32, job: JobID) { self[number].breaker.ended(job: job) }

  /// The network changed: every open breaker sends its probe.
  mutating func probeNow(now: Duration) { for index in states.indices { states[index].breaker.probeNow(now: now) } }

  /// Moments at which a blocked origin may be asked again.
  var openings: [Duration] { states.compactMap(\.nextOpening) }

  /// Forgets what is over. Whether something may start again.
  mutating func expire(_ now: Duration) -> Bool {
    var opens = false
    for index in states.indices {
      let expiry = states[index].expire(now)
      if expiry.endsReduction { restored.append(UInt32(index)) }
      opens = opens || expiry.opens
    }
    return opens
  }
}
