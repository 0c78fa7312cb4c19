internal import AssetModel

/// What a step comes to when everything that a job received is safe. A pure function of the step, the record and a few facts.
enum Conclusion: Equatable {
  case verify
  case failedAttempt(TransferProblem, retryAfter: Duration?)
  case failed(TransferFailure)
  case startAfresh(reason: String)
  /// The rest is asked for, in another way.
  case ask
  case retire(Retirement)
  /// The journal knows everything already.
  case leave

  struct Facts: Equatable {
    /// Times that everything was given up because a server refused the rest, in this activation, this one included.
    var restarts = 0
    /// Bytes of the file that survive a power cut.
    var durableBytes: Int64 = 0
    /// Of the file, when the activation began.
    var firstGeneration = 1
    var hasFile = true
  }

  static let maxRestarts = 4

  /// `record`: changed where the step says something of it.
  init(of step: NextStep, _ record: inout JobRecord, _ facts: Facts) {
    switch step {
    case .verify: self = .verify
    case .retry(let problem, let retryAfter): self = .failedAttempt(problem, retryAfter: retryAfter)
    case .hold(.disk(let shortage), _):
      record.noteError("\(shortage)")
      // Bytes that aren't durable would only take room from others, and a length that nothing was received of is a
      // server's word of a moment ago: it is asked again.
      let isWorthless = record.state != .verified && record.partial != nil && facts.durableBytes == 0 && facts.hasFile
      if isWorthless { record.partial = nil }
      self = .retire(Retirement(.outOfSpace(shortage), removing: isWorthless ? .partial : .nothing))
    case .hold(let reason, let delay):
      record.noteError(reason.text)
      self = .retire(Retirement(.held(reason, delay.map { .after($0) } ?? .never)))
    case .pause:
      record.state = .paused
      self = .retire(Retirement(.paused))
    // A neighbour that goes before isn't news; that power or a metered line keeps it from going on is.
    case .yield: self = .retire(Retirement(.queued(reportsBlock: true)))
    case .cancel:
      record.state = .cancelled
      record.partial = nil
      self = .retire(Retirement(.cancelled, removing: .everything))
    case .fail(let failure): self = .failed(failure)
    case .startAfresh(let reason): self = .startAfresh(reason: reason)
    case .askOtherwise(let reason):
      self = facts.restarts <= Self.maxRestarts ? .ask : .failedAttempt(.protocolFault(reason), retryAfter: nil)
    // What was received since the last commit has been charged to no budget yet, or what was given up would be checked again.
    case .close where record.specification.budget != nil || record.generation != facts.firstGeneration:
      self = .retire(Retirement(.left))
    case .close: self = .leave
    }
  }
}
