internal import LinuxSystem

/// How long calls take, from a question being sent to its answer being understood, and so how the next answer is waited for, and
/// how the runner waits for the next question. Counts what spinning costs.
struct CallPace {
  /// For calls that follow each other.
  private var following = AnswerWait()
  /// For those that have to wake the runner.
  private var waking = WakingWait()
  private var budget = SpinBudget()
  private var moves = ProcessorMoves()
  private var way = AnswerWait.Way.blocking
  /// Whether the way was chosen by what was learned, and so is to learn from.
  private var isLearning = true
  private var sent = Duration.zero
  /// Whether there is one processor only: a thread that spins there keeps the runner from it.
  private var isAlone = true
  private var ended: Duration?
  /// Whether the call comes so long after the last one that the runner sleeps and has to be woken.
  private var isAfterPause = false
  /// What the last call took.
  private(set) var last = Duration.zero
  /// For how long the host has spun for answers.
  private(set) var spun = Duration.zero

  /// For how long a caller waits for an answer on its own thread in the way that was chosen.
  var spinLimit: Duration { isAfterPause && way == .blocking ? Self.wakingLimit : AnswerWait.spinLimit }

  /// Until how long after its question a caller that has spun in vain sleeps for the answer. It may have kept a runner that it
  /// woke from its own core, and the watchdog's thread, which would wait instead, may have to wait for a core itself.
  var sleepLimit: Duration { isAfterPause && way == .spinning ? Self.wakingLimit : .zero }

  /// A runner that has to be woken answers later, and a caller that sleeps leaves the core to others.
  private static let wakingLimit = Duration.microseconds(400)

  /// Until when the watchdog's thread, which others need, waits for an answer on its own channel.
  var spinEnd: Duration { sent + AnswerWait.spinLimit }

  /// A call is about to be made by a thread that may go elsewhere. Whether it is to go first: then it isn't on the runner's
  /// processor any more.
  mutating func isToMove(at now: Duration, cores: Int, isOnRunnersProcessor: Bool) -> Bool {
    guard cores > 1, let ended, now - ended <= SpinBudget.longest else { return false }
    return moves.handle(.called(isShared: isOnRunnersProcessor))
  }

  /// A call is about to be sent. `cores`: on which this host may run. `isOnRunnersProcessor`: spinning there would keep
  /// the runner from answering.
  mutating func begin(at now: Duration, cores: Int, isOnRunnersProcessor: Bool = false) {
    sent = now
    if let ended { budget.handle(.asked(after: now - ended)) }
    isAfterPause = ended.map { now - $0 > Watchdog.graceBeforeFreeze } ?? true
    // Where a runner that is woken runs is the kernel's to say.
    isLearning = isAfterPause || !isOnRunnersProcessor
    way = !isLearning ? .blocking : isAfterPause ? waking.way(cores: cores) : following.way(cores: cores)
    isAlone = cores < 2
  }

  /// How its answer is waited for.
  var choice: AnswerWait.Way { way }

  /// For how long the runner spins after its answer.
  var runnersSpinLimit: Duration { isAlone ? .zero : budget.spinLimit }

  /// It was waited so long for an answer.
  mutating func waited(_ time: Duration) { if way == .spinning { spun += time } }

  /// `isSpecial`: it carried much, which says nothing of others.
  mutating func end(at now: Duration, isSpecial: Bool = false) {
    last = now - sent
    defer { ended = now }
    // The first of all loads the plugin.
    guard !isSpecial, isLearning, ended != nil else { return }
    if isAfterPause { waking.took(last, way) } else { following.took(last, way) }
  }
}
