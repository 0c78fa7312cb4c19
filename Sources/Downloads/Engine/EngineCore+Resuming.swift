internal import AssetModel

/// How the rest of a file is asked for, and what follows when it isn't given as it should be.
extension EngineCore {
  func firstAsk(_ job: ActiveJob, _ url: ParsedURL) -> ResumePolicy.Ask {
    // Where redirects led before, they probably lead again.
    let last = (job.record.partial?.entity.finalURL).flatMap { try? ParsedURL($0) } ?? url
    let ask = ResumePolicy.ask(
      job.record, offset: job.file.written.offset, originIsRangeless: origins[originNumber(url)].isRangeless,
      remembered: origins[originNumber(last)].rangeCondition)
    // Without all of what has to be compared nothing would show whose bytes come.
    guard case .range(let first, _, _) = ask, job.file.written.offset - first == Int64(job.file.written.tail.count)
    else { return .whole }
    return ask
  }

  /// An envelope came instead of a range. It says nothing of whether there are ranges: it is asked once more, then for
  /// everything, and nothing is remembered. Whether that was seen to here.
  func gotParts(_ job: ActiveJob, _ segment: Segment) -> Bool {
    let what = "\(segment.request.url.origin) answers a single range with several parts (multipart/byteranges)"
    events.send(.note(job.id, what))
    guard segment.request.hasSeenParts else {
      segment.request.hasSeenParts = true
      return false
    }
    segment.request.whyWhole = what
    guard job.file.chunks != nil else { return false }
    if !switchesSource(job, segment, what, nil, isFailure: false) {
      job.planner.mayBeRangeless = true
      settle(job, .askOtherwise(what))
    }
    return true
  }

  /// Access was refused: what a digest proves is good for another URL of the same file, or for this one when it lets
  /// somebody in again; what a strong entity tag tells apart is good for the same place. nil: nothing is worth keeping.
  func keptForAnotherURL(_ job: ActiveJob, _ failure: TransferFailure) -> TransferFailure? {
    guard job.file.failure == nil, let entity = job.record.partial?.entity, job.durableBytes > 0,
      ResumePolicy.isIdentified(job.record) || entity.strongTag != nil
    else { return nil }
    var failure = failure
    failure.detail +=
      "; the \(job.durableBytes) bytes that are there are kept, and another URL of the same file goes on from them"
    return failure
  }
}
