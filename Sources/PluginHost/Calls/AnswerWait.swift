internal import LinuxSystem

/// Decides how a call's answer is waited for. Spinning on the channel saves this thread from being put to sleep and
/// woken, where another core is free to run the runner; where none is, it keeps the runner from its core. Which it is
/// changes with everything else on the machine, so now and then the other way is tried, and the faster one kept. A pure value.
struct AnswerWait: Equatable {
  enum Way: Equatable {
    case spinning, blocking

    var other: Self { self == .spinning ? .blocking : .spinning }
  }

  /// For so long a plugin may keep the host from its other plugins.
  static let spinLimit = Duration.microseconds(100)
  /// Calls that a trial takes, one after the other. The first doesn't count: it finds the runner as the way before left it, and
  /// both where the kernel had put them for that.
  static let trialLength = 4
  /// Calls from one trial to the next: twice as many after each that found nothing better.
  static let trialGaps = 32...512

  private struct Trial: Equatable {
    var calls = 0
    var sum: Int64 = 0
  }

  private static let spinLimitTime = spinLimit.inNanoseconds
  /// One call that was long says nothing of the short ones.
  private static let longestTime = 2 * spinLimitTime

  private var chosen = Way.blocking
  /// What calls take of late, waited for as chosen, in nanoseconds; nil: none was yet.
  private var mean: Int64?
  /// The same as it was chosen.
  private var former: Int64 = 0
  /// Of the other way.
  private var trial: Trial? = Trial()
  private var gap = trialGaps.lowerBound
  /// Calls before the next trial.
  private var left = 0

  /// For the next call.
  func way(cores: Int) -> Way {
    guard cores > 1 else { return .blocking }
    return trial == nil ? chosen : chosen.other
  }

  mutating func took(_ time: Duration, _ way: Way) {
    let time = min(time.inNanoseconds, Self.longestTime)
    if var trial {
      guard way != chosen else { return }
      trial.calls += 1
      if trial.calls > 1 { trial.sum += time }
      self.trial = trial
      if trial.calls == Self.trialLength { decide(trial.sum / Int64(Self.trialLength - 1)) }
      return
    }
    guard way == chosen else { return }
    let mean = mean.map { $0 + (time - $0) / 8 } ?? time
    self.mean = mean
    if mean * 2 > former * 3, left > Self.trialGaps.lowerBound {
      former = mean
      gap = Self.trialGaps.lowerBound
      left = gap
    }
    left -= 1
    if left <= 0 { trial = Trial() }
  }

  /// `tried`: what calls took in the other way.
  private mutating func decide(_ tried: Int64) {
    trial = nil
    let spinning = chosen == .spinning ? mean : tried
    let asleep = chosen == .blocking ? mean : tried
    // An answer that doesn't come while it is waited for is none the later for sleeping.
    let limit = min(asleep ?? .max, Self.spinLimitTime)
    let better: Way = spinning.map { $0 < limit } ?? false ? .spinning : .blocking
    // Of which nothing is known yet is tried at once.
    left = mean == nil ? 1 : Self.trialGaps.lowerBound
    if better != chosen {
      (chosen, mean, gap) = (better, tried, Self.trialGaps.lowerBound)
    } else if mean != nil {
      left = gap
      gap = min(gap * 2, Self.trialGaps.upperBound)
    }
    former = mean ?? tried
  }
}
