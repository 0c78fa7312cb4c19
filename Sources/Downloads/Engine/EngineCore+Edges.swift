internal import AssetModel

/// The edges of a content network may tag the same bytes differently. A file that changed as often as is believed, and of
/// which nothing else tells what it is, stays with the address that served it last.
extension EngineCore {
  private func staysAtEdge(_ job: ActiveJob, _ url: ParsedURL) -> Bool {
    job.record.history.validatorRestarts >= Self.maxValidatorRestarts && job.chunks == nil
      && ResumePolicy.knownDigest(job.record) == nil && !isProxied(url)
  }

  /// The address that its next request goes to; nil: any that the name has.
  func edge(for job: ActiveJob, _ url: ParsedURL) -> String? {
    staysAtEdge(job, url) ? origins[originNumber(url)].edge : nil
  }

  func noteEdge(_ job: ActiveJob, _ segment: Segment, _ end: TransportEnd) {
    guard staysAtEdge(job, segment.url) else { return }
    let number = originNumber(segment.url)
    if segment.writer != nil {
      origins[number].edge = end.remoteAddress.isEmpty ? nil : end.remoteAddress
    } else if end.problem != nil {
      // It may be gone for good; the others have the file, too.
      origins[number].edge = nil
    }
  }
}
