internal import LinuxSystem

/// How long calls take, from a question being sent to its answer being understood, and so how the next answer is waited for, and
/// how the runner waits for the next question. Counts what turning round costs.
struct CallPace {
  /// For calls that follow each other.
  private var following = AnswerWait()
  /// For those that have to wake the runner, where turning round may keep it from its core for as long as it takes.
  private var waking = AnswerWait()
  private var budget = SpinBudget()
  private var way = AnswerWait.Way.asleep
  private var sent = Duration.zero
  /// Whether there is but one processor: who turns round there keeps the other from it.
  private var isAlone = true
  private var ended: Duration?
  /// Whether the call comes so long after the last one that the runner sleeps and has to be woken.
  private var isAfterPause = false
  /// What the last call took.
  private(set) var last = Duration.zero
  /// For how long the host has turned round for answers.
  private(set) var turned = Duration.zero

  /// For how long a caller waits for an answer on its own thread. A runner that has to be woken answers later, and to sleep costs
  /// nobody a core.
  var patience: Duration { isAfterPause && way == .asleep ? Self.wakingPatience : AnswerWait.patience }
  private static let wakingPatience = Duration.microseconds(400)

  /// Until when the watchdog's thread, which others need, waits for an answer on its own channel.
  var patienceEnd: Duration { sent + AnswerWait.patience }

  /// A call is about to be sent. `cores`: on which this host may run.
  mutating func begin(at now: Duration, cores: Int) {
    sent = now
    if let ended { budget.handle(.asked(after: now - ended)) }
    isAfterPause = ended.map { now - $0 > Watchdog.graceBeforeFreeze } ?? true
    way = isAfterPause ? waking.way(cores: cores) : following.way(cores: cores)
    isAlone = cores < 2
  }

  /// How its answer is waited for.
  var choice: AnswerWait.Way { way }

  /// For how long the runner turns round after its answer.
  var runnersPatience: Duration { isAlone ? .zero : budget.patience }

  /// It was waited so long for an answer.
  mutating func waited(_ time: Duration) { if way == .turning { turned += time } }

  /// `isSpecial`: it carried much, which says nothing of others.
  mutating func end(at now: Duration, isSpecial: Bool = false) {
    last = now - sent
    defer { ended = now }
    // The first of all loads the plugin.
    guard !isSpecial, ended != nil else { return }
    if isAfterPause { waking.took(last, way) } else { following.took(last, way) }
  }
}
