internal import AssetModel

/// How the rest of a file is asked for, and what follows when it isn't given as it should be.
extension EngineCore {
  func firstAsk(_ job: ActiveJob, _ url: ParsedURL) -> ResumePolicy.Ask {
    // Where redirects led before, they probably lead again.
    let last = (job.record.partial?.entity.finalURL).flatMap { try? ParsedURL($0) } ?? url
    let ask = ResumePolicy.ask(
      job.record, offset: job.writtenOffset, originIsRangeless: origins[originNumber(url)].rangelessUntil != nil,
      remembered: origins[originNumber(last)].rangeCondition)
    // Without all of what has to be compared nothing would show whose bytes come.
    guard case .range(let first, _, _) = ask, job.writtenOffset - first == Int64(job.tail.count) else { return .whole }
    return ask
  }

  /// The condition that brought a range from an origin which drops it under another one.
  func noteCondition(_ segment: Segment) {
    guard segment.hasLostRange, case .range(_, _, let condition) = segment.ask,
      let condition = RangeCondition(condition)
    else { return }
    let number = originNumber(segment.url)
    let isNews = origins[number].rangeCondition != condition
    origins[number].rangeCondition = condition
    origins[number].rangeConditionUntil = clock.boot + .seconds(24 * 3600)
    if isNews { journalOrigin(number) }
  }

  /// Another version is there. After some of them the next attempt has nothing to compare with: that is no progress,
  /// however much comes. `otherwise`: what is said then.
  func changed(_ job: ActiveJob, otherwise: String) -> Segment.Plan {
    let reason = "the file changed on the server"
    job.record.history.validatorRestarts += 1
    guard job.record.history.validatorRestarts <= Self.maxValidatorRestarts else {
      startAfresh(job, reason: reason)
      return .problem(.protocolFault(otherwise), retryAfter: nil)
    }
    return .next(.restart(reason))
  }

  /// An envelope came instead of a range. It says nothing of whether there are ranges: it is asked once more, then for
  /// everything, and nothing is remembered. Whether that was seen to here.
  func gotParts(_ job: ActiveJob, _ segment: Segment) -> Bool {
    let what = "\(segment.url.origin) answers a single range with several parts (multipart/byteranges)"
    events.send(.note(job.id, what))
    guard segment.hasSeenParts else {
      segment.hasSeenParts = true
      return false
    }
    segment.whyWhole = what
    guard job.chunks != nil else { return false }
    if !switchesSource(job, segment, what, nil, isFailure: false) {
      job.mayBeRangeless = true
      settle(job, .other(what))
    }
    return true
  }

  /// Access was refused: what a digest proves is good for another URL of the same file, or for this one when it lets
  /// somebody in again; what a strong entity tag tells apart is good for the same place. nil: nothing is worth keeping.
  func keptForAnotherURL(_ job: ActiveJob, _ failure: TransferFailure) -> TransferFailure? {
    guard job.ioError == nil, let entity = job.record.partial?.entity, job.durableBytes > 0,
      ResumePolicy.isIdentified(job.record) || entity.strongTag != nil
    else { return nil }
    var failure = failure
    failure.detail +=
      "; the \(job.durableBytes) bytes that are there are kept, and another URL of the same file goes on from them"
    return failure
  }
}
