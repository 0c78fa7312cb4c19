internal import AssetModel

/// Servers that want to know who asks: a client certificate, by the same two phases as every other challenge.
extension EngineCore {
  func identityDemanded(_ job: ActiveJob, _ segment: Segment, _ demand: TLSDiagnosis.Demand, _ text: String) {
    let origin = segment.url.origin
    func failure(_ detail: String) -> ActiveJob.Next {
      .fail(TransferFailure(.challenge, hop: segment.visited.count, detail: detail))
    }
    let isCertain = demand != .perhaps || job.identities[origin] != nil
    // A handshake may fail without a word for other reasons, too: then it is tried again like any other.
    let otherwise =
      isCertain
      ? failure("\(origin) asks for a client certificate, and nobody gave one that it takes")
      : .retry(.tls(text), retryAfter: nil)
    if demand == .unusable {
      return conclude(job, segment, failure("the client certificate for \(text)"))
    }
    guard options.answerChallenge != nil else { return conclude(job, segment, otherwise) }
    guard challenges(job, origin) < Self.maxChallenges else {
      return conclude(
        job, segment, isCertain ? failure("\(origin) refused \(Self.maxChallenges) client certificates") : otherwise)
    }
    let challenge = AuthenticationChallenge(
      kind: .clientCertificate(isCertain: isCertain), origin: origin, app: job.record.specification.app,
      identifier: job.record.specification.identifier, previousFailureCount: challenges(job, origin))
    authenticate(job, segment, Asked(challenge: challenge, withoutIdentity: otherwise))
  }

  func identityAnswered(
    _ job: ActiveJob, _ segment: Segment, _ asked: Asked, _ answer: ChallengeAnswer, _ otherwise: ActiveJob.Next
  ) {
    guard case .clientCertificate(let identity) = answer else { return conclude(job, segment, otherwise) }
    job.identities[asked.challenge.origin] = identity
    requestAgain(job, segment)
  }
}
