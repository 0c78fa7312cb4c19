internal import AssetModel
internal import Basics
internal import LinuxSystem

/// Challenges in two phases: the answer ends, somebody is asked, and the request is made again. Nobody is waited for on the
/// network thread; no answer means no. `Authenticator` decides.
extension EngineCore {
  private func authenticatorRequest(_ job: ActiveJob, _ segment: Segment) -> Authenticator.Request {
    let specification = job.record.specification
    return Authenticator.Request(
      app: specification.app, identifier: specification.identifier, hop: segment.request.visited.count,
      origin: segment.request.url.origin, proxyName: isProxied(segment.request.url) ? proxyName : nil,
      refusals: job.record.history.challenges, canAsk: options.answerChallenge != nil)
  }

  func challenged(_ job: ActiveJob, _ segment: Segment, _ head: ResponseHead) -> ResponsePlan {
    let peer = origins.number(of: head.status == 407 ? proxyName : segment.request.url.origin)
    let request = authenticatorRequest(job, segment)
    switch job.access.challenged(head, request, strongest: &origins[peer].strongestOffered) {
    case .again: return .again(segment.request.ask, .probe)
    case .ask(let question): return .authenticate(question)
    case .end(let next): return .next(next)
    }
  }

  func authenticate(_ job: ActiveJob, _ segment: Segment, _ question: Authenticator.Question) {
    guard let answer = options.answerChallenge else { return }
    job.record.history.challenges += 1
    job.access.asked(question)
    segment.question = (question.challenge, clock.boot + options.challengeTimeout)
    let (id, run, mailbox, transfer) = (job.id, job.run, mailbox, segment.transfer)
    TimedQuestion(timeout: options.challengeTimeout, otherwise: ChallengeAnswer.performDefaultHandling) {
      await answer(question.challenge)
    }.put { reply in
      mailbox.post { core in
        guard let job = core.job(id, run), job.next == nil,
          let segment = job.segments.first(where: { $0.transfer == transfer })
        else { return }
        segment.question = nil
        core.carryOut(
          job.access.answered(
            question, with: reply, host: segment.request.url.host, core.authenticatorRequest(job, segment),
            trustProblem: segment.trustProblem), job, segment)
      }
    }
  }

  private func carryOut(_ verdict: Authenticator.Verdict, _ job: ActiveJob, _ segment: Segment) {
    switch verdict {
    case .again: requestAgain(job, segment)
    case .ask(let question): authenticate(job, segment, question)
    case .end(let next): conclude(job, segment, next)
    }
  }

  func cnonce() -> String { String(random.next(), radix: 16) }

  // MARK: Certificates

  /// Phase 1 failed strictly. Where somebody may be asked, the chain is taken by a handshake that sends no request.
  func untrusted(_ job: ActiveJob, _ segment: Segment, _ end: TransportEnd, _ fault: TLSDiagnosis.Fault) {
    let (problem, url) = (Printable.text(end.message), segment.request.url)
    if fault == .notYetValid {
      if switchesSource(job, segment, "\(url.origin): \(problem)", nil) || holdForClock(job, problem) { return }
    }
    guard
      job.access.mayAskForTrust(
        in: url.host, authenticatorRequest(job, segment), fault: fault,
        checksRevocation: options.transport.revocation[url.host] != nil,
        isPinned: options.transport.pins[url.host] != nil)
    else {
      return conclude(
        job, segment,
        .fail(TransferFailure(.trust, hop: segment.request.visited.count, detail: "\(url.origin): \(problem)")))
    }
    segment.trustProblem = problem
    segment.plan = nil
    segment.transfer = TransferID(number: number())
    segments[segment.transfer] = segment
    var request = TransportRequest(url: url, headers: [])
    request.looksAtChainOnly = true
    request.proxyHeaders = job.access.proxyAuthorization(
      for: url, method: segment.request.method(of: job.record.specification), cnonce: cnonce)
    segment.link.headDeadline = clock.boot + options.transport.connectTimeout
    transport.start(request, as: segment.transfer)
  }

  func chainShown(_ job: ActiveJob, _ segment: Segment, _ end: TransportEnd) {
    carryOut(
      job.access.shown(end.chain, problem: segment.trustProblem, authenticatorRequest(job, segment)), job, segment)
  }

  func certificateDemanded(_ job: ActiveJob, _ segment: Segment, _ demand: TLSDiagnosis.Demand, _ text: String) {
    carryOut(job.access.certificateDemanded(demand, authenticatorRequest(job, segment), text: text), job, segment)
  }
}
