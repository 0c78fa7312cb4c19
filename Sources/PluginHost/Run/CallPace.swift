internal import LinuxSystem

/// How long calls take, from a frame being sent to its answer being understood, and so how the next answer is waited for.
struct CallPace {
  private var rule = AnswerWait()
  private var way = AnswerWait.Way.asleep
  private var sent = Duration.zero
  /// What the last call took.
  private(set) var last = Duration.zero

  /// Until when an answer is waited for on its own channel.
  var patienceEnd: Duration { sent + AnswerWait.patience }

  /// A call is about to be sent.
  mutating func begin(at now: Duration) { sent = now }

  /// How its answer is waited for.
  mutating func choose(cores: Int) -> AnswerWait.Way {
    way = rule.way(cores: cores)
    return way
  }

  mutating func end(at now: Duration) {
    last = now - sent
    rule.took(last, way)
  }
}
