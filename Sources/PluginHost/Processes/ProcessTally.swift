/// What the kernel says of one process at one moment.
struct ProcessLook: Sendable, Equatable {
  var pid: Int32
  /// When it began, in clock ticks since boot: with the id it names a process for good.
  var began: UInt64
  /// CPU time of all of its threads.
  var cpu: Duration
  /// CPU time of the processes that it has waited for, and of those that they have.
  var waited: Duration
  var threads: Int
  /// It has ended, and hasn't been waited for.
  var isZombie = false
}

/// Counts the CPU time of several processes from one look at all of them to the next. A pure value.
///
/// The kernel adds what a process has used to its parent's account when the parent waits for it (wait(2)), and nowhere where the parent
/// lets the kernel do so (SA_NOCLDWAIT). What has gone since the last look may then have used the processor until a moment ago, which
/// can't be found out: so each thread that isn't there any more counts as if it had, and short looks keep that small. What isn't counted is a
/// process that begins and ends between two looks, and that isn't waited for.
struct ProcessTally: Sendable, Equatable {
  /// A host that hasn't looked for longer has its fork server stop the processes (`Lease`).
  static let longestGap = Lease.durations.counted

  private var known: [Int32: ProcessLook] = [:]
  private var lastLook: Duration
  /// Of those that have ended: what is certain, and what counts.
  private var ended = Ended()
  private let cores: Int

  private struct Ended: Equatable {
    var certain = Duration.zero
    var counted = Duration.zero
    /// What was counted at the last look as a process had gone, and may be in its parent's account at the next.
    var unmatched = Duration.zero
  }

  init(cores: Int, at now: Duration) {
    self.cores = cores
    lastLook = now
  }

  /// What all of them have used as far as can be known for certain.
  var certain: Duration { ended.certain + used }
  /// What counts for the limits: no less than what is certain.
  var counted: Duration { ended.counted + used }
  /// The processes that were there at the last look, with those that haven't been waited for.
  var pids: [Int32] { known.keys.sorted() }

  /// How many of those have ended.
  var zombies: Int { known.values.count { $0.isZombie } }

  private var used: Duration { known.values.reduce(.zero) { $0 + $1.cpu } }

  /// `looks`: each process that is there, once. Their `waited` was read before any of them was found to be there: so no account has
  /// grown by one that still is.
  mutating func take(_ looks: [ProcessLook], at now: Duration) {
    let gap = min(max(now - lastLook, .zero), Self.longestGap)
    let before = known
    known = Dictionary(looks.map { ($0.pid, $0) }, uniquingKeysWith: { $1 })
    var (growth, waited) = (Duration.zero, Duration.zero)
    for look in known.values {
      let same = before[look.pid].flatMap { $0.began == look.began ? $0 : nil }
      growth += look.cpu - (same?.cpu ?? .zero)
      waited += look.waited - (same?.waited ?? .zero)
    }
    let vanished = before.values.filter { known[$0.pid]?.began != $0.began }
    let seen = vanished.reduce(Duration.zero) { $0 + $1.cpu }
    // What they had waited for was counted as they did, and comes again in the account of the process that waits for them.
    let again = vanished.reduce(Duration.zero) { $0 + $1.waited }
    let news = max(waited - ended.unmatched - again, .zero)
    let certain = max(news, seen)
    // One that was seen to be gone as the account grew is in that by the next look.
    ended.unmatched = max(seen + again - max(waited - ended.unmatched, .zero), .zero)
    let threads = vanished.reduce(0) { $0 + ($1.isZombie ? 0 : $1.threads) }
    let counted = max(certain, seen + min(gap * threads, max(gap * cores - growth, .zero)))
    ended.certain += certain
    ended.counted += counted
    lastLook = now
  }
}
