internal import AssetModel

/// What follows in a job when everything that it received is safe.
enum NextStep: Equatable, Sendable {
  case verify
  case retry(TransferProblem, retryAfter: Duration?)
  /// `after`: until it is looked at again; nil: only by a command or an event.
  case hold(Hold.Reason, after: Duration?)
  case pause
  /// Its slot is for others.
  case yield
  case cancel
  case fail(TransferFailure)
  /// Everything that is there is of no use: a new generation, at once.
  case startAfresh(String)
  /// The rest is asked for in another way, at once.
  case askOtherwise(String)
  /// The engine closes.
  case close

  /// Whether what was received is kept.
  var keepsBytes: Bool {
    switch self {
    case .fail(let failure): failure.isRefusedAccess
    case .cancel, .startAfresh: false
    case .verify, .retry, .hold, .pause, .yield, .close, .askOtherwise: true
    }
  }

  /// Whether another step takes the place of this one: to pause or close comes before another try, and to cancel before
  /// everything but a failure. What goes on at once would go on against a command, or, with what is there, against a file that
  /// fails.
  func givesWay(to other: NextStep) -> Bool {
    switch (self, other) {
    case (.cancel, _), (.fail, _): false
    case (_, .cancel): true
    case (.retry, .pause), (.hold, .pause), (.yield, .pause): true
    case (.askOtherwise, .pause), (.askOtherwise, .close), (.askOtherwise, .hold), (.askOtherwise, .fail): true
    case (.startAfresh, .pause), (.startAfresh, .close): true
    default: false
    }
  }
}
