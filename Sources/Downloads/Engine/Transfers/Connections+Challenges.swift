internal import AssetModel
internal import Basics

/// Challenges in two phases: the answer ends, the owner is asked, and the request is made again. No answer is waited for on the
/// network thread; no answer means no. `Authenticator` decides.
extension Connections {
  private func authenticatorRequest(_ job: ActiveJob, _ segment: Segment) -> Authenticator.Request {
    let specification = job.record.specification
    return Authenticator.Request(
      app: specification.app, identifier: specification.identifier, hop: segment.request.visited.count,
      origin: segment.request.url.origin,
      proxyName: engine.options.transport.isProxied(segment.request.url)
        ? engine.options.transport.proxyName(for: segment.request.url) : nil,
      refusals: job.record.history.challenges, canAsk: engine.options.answerChallenge != nil)
  }

  func challenged(_ job: ActiveJob, _ segment: Segment, _ head: ResponseHead) -> ResponsePlan {
    let peer = engine.origins.number(
      of: head.status == 407 ? engine.options.transport.proxyName(for: segment.request.url) : segment.request.url.origin
    )
    let request = authenticatorRequest(job, segment)
    switch job.access.challenged(head, request, strongest: &engine.origins[peer].strongestOffered) {
    case .again: return .again(segment.request.ask, .probe)
    case .ask(let question): return .authenticate(question)
    case .end(let next): return .next(next)
    }
  }

  func authenticate(_ job: ActiveJob, _ segment: Segment, _ question: Authenticator.Question) {
    guard let answer = engine.options.answerChallenge else { return }
    job.record.history.challenges += 1
    job.access.asked(question)
    segment.question = (question.challenge, clock.boot + engine.options.challengeTimeout)
    let (activation, mailbox, transfer) = (job.activation, mailbox, segment.transfer)
    TimedQuestion(timeout: engine.options.challengeTimeout, otherwise: ChallengeAnswer.performDefaultHandling) {
      await answer(question.challenge)
    }.put { mailbox.post(.transfer(activation, .challengeAnswered(transfer, question, $0))) }
  }

  func challengeAnswered(
    _ job: ActiveJob, _ transfer: TransferID, _ question: Authenticator.Question, _ answer: ChallengeAnswer
  ) {
    guard !job.machine.isDecided, let segment = job.segments.first(where: { $0.transfer == transfer }) else { return }
    segment.question = nil
    carryOut(
      job.access.answered(
        question, with: answer, host: segment.request.url.host, authenticatorRequest(job, segment),
        trustProblem: segment.trustProblem), job, segment)
  }

  func carryOut(_ verdict: Authenticator.Verdict, _ job: ActiveJob, _ segment: Segment) {
    switch verdict {
    case .again: requestAgain(job, segment)
    case .ask(let question): authenticate(job, segment, question)
    case .end(let next): chunked.endTransfer(job, segment, next)
    }
  }

  func cnonce() -> String { String(engine.random.next(), radix: 16) }

  /// Phase 1 failed strictly. Where the owner may be asked, the chain is taken by a handshake that sends no request.
  func untrusted(_ job: ActiveJob, _ segment: Segment, _ end: TransportEnd, _ fault: TLSDiagnosis.Fault) {
    let (problem, url) = (
      Authenticator.TrustProblem(text: Printable.text(end.message), fault: fault), segment.request.url
    )
    if fault == .notYetValid {
      if chunked.switchesSource(job, segment, "\(url.origin): \(problem.text)", nil) { return }
      if let step = network.stepInDoubt() {
        job.record.noteError(problem.text)
        return endings.stop(job, then: step)
      }
    }
    guard
      job.access.mayAskForTrust(
        in: url.host, authenticatorRequest(job, segment), fault: fault,
        checksRevocation: engine.options.transport.revocation[url.host] != nil,
        isPinned: engine.options.transport.pins[url.host] != nil)
    else {
      return chunked.endTransfer(
        job, segment, .fail(problem.failure(url.origin, hop: segment.request.visited.count)))
    }
    segment.trustProblem = problem
    segment.plan = nil
    segment.transfer = TransferID(number: engine.number())
    segments[segment.transfer] = segment
    var request = TransportRequest(url: url, headers: [])
    request.looksAtChainOnly = true
    request.proxyHeaders = job.access.proxyAuthorization(
      for: url, method: segment.request.method(of: job.record.specification), cnonce: cnonce)
    segment.link.headDeadline = clock.boot + engine.options.transport.connectTimeout
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
