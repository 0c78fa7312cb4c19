internal import AssetModel
internal import Basics
internal import LinuxSystem

/// Challenges in two phases: the answer ends, somebody is asked, and the request is made again. Nobody is waited for on the
/// network thread; no answer means no.
extension EngineCore {
  static let maxChallenges = 3
  /// Nonces that a server may call old before somebody is asked again.
  static let maxStaleNonces = 8

  /// What somebody was asked, and for which request.
  struct Asked: Sendable {
    var challenge: AuthenticationChallenge
    var scheme: Challenge?
    var key: String?
    /// What follows if nobody has a client certificate.
    var withoutIdentity: ActiveJob.Next?
  }

  // MARK: 401 and 407

  func challenged(_ job: ActiveJob, _ segment: Segment, _ head: ResponseHead) -> Segment.Plan {
    let isProxy = head.status == 407
    let origin = isProxy ? "proxy" : segment.url.origin
    let peer = name(of: origin)
    let offered = Challenge.parse(head.values(isProxy ? "proxy-authenticate" : "www-authenticate"))
    func fail(_ detail: String) -> Segment.Plan {
      .next(.fail(TransferFailure(.challenge, status: head.status, hop: segment.visited.count, detail: detail)))
    }
    if isProxy, !isProxied(segment.url) {
      return .next(
        .fail(
          TransferFailure(
            .hostileResponse, status: head.status, hop: segment.visited.count,
            detail: "\(segment.url.origin) answers as a proxy that asks for a credential, and there is none on the way")
        ))
    }
    guard let best = offered.filter(Authorization.isSupported).max(by: { $0.strength < $1.strength }) else {
      return fail("\(peer) asks for a credential by no scheme that is known")
    }
    let peerNumber = origins.number(of: isProxy ? proxyName : origin)
    if let strongest = origins[peerNumber].strongestOffered, best.strength < strongest {
      return fail(
        "\(peer) offers a weaker scheme (\(best.scheme.rawValue)) than before (\(strongest.scheme.rawValue))")
    }
    origins[peerNumber].strongestOffered = best.strength
    // A credential was given for a realm: for another one it is asked for anew.
    if job.staleNonces < Self.maxStaleNonces, let session = job.credentials[origin]?.renewed(by: best) {
      // An old nonce isn't a refusal, and counts for itself.
      job.staleNonces += 1
      job.credentials[origin] = session
      return .again(segment.ask, .probe)
    }
    guard options.answerChallenge != nil else {
      let realm = "realm \"\(Printable.text(best.realm, limit: 60))\""
      return fail("\(peer) asks for a credential (\(best.scheme.rawValue), \(realm)) and there is none")
    }
    guard challenges(job, origin) < Self.maxChallenges else {
      return fail("\(peer) refused \(Self.maxChallenges) credentials (\(best.scheme.rawValue))")
    }
    let challenge = AuthenticationChallenge(
      kind: .credentials(scheme: best.scheme.rawValue, realm: best.realm, isProxy: isProxy), origin: origin,
      app: job.record.specification.app, identifier: job.record.specification.identifier,
      previousFailureCount: challenges(job, origin))
    return .authenticate(Asked(challenge: challenge, scheme: best))
  }

  /// Rounds with an origin. What one source refuses says nothing of another.
  func challenges(_ job: ActiveJob, _ origin: String) -> Int {
    job.sources.urls.count > 1 ? job.challenged[origin] ?? 0 : job.record.history.challenges
  }

  private func name(of origin: String) -> String { origin == "proxy" ? proxyName : origin }

  func authenticate(_ job: ActiveJob, _ segment: Segment, _ asked: Asked) {
    guard let answer = options.answerChallenge else { return }
    job.record.history.challenges += 1
    job.challenged[asked.challenge.origin, default: 0] += 1
    segment.question = (asked.challenge, clock.boot + options.challengeTimeout)
    let (id, run, mailbox, transfer) = (job.id, job.run, mailbox, segment.transfer)
    let question = TimedQuestion(timeout: options.challengeTimeout, otherwise: ChallengeAnswer.performDefaultHandling) {
      await answer(asked.challenge)
    }
    question.put { reply in
      mailbox.post { core in
        guard let job = core.job(id, run), job.next == nil,
          let segment = job.segments.first(where: { $0.transfer == transfer })
        else { return }
        segment.question = nil
        core.answered(job, segment, asked, reply)
      }
    }
  }

  private func answered(_ job: ActiveJob, _ segment: Segment, _ asked: Asked, _ answer: ChallengeAnswer) {
    if let otherwise = asked.withoutIdentity { return identityAnswered(job, segment, asked, answer, otherwise) }
    let origin = asked.challenge.origin
    switch (answer, asked.scheme, asked.key) {
    case (.credential(let user, let password), let scheme?, _):
      job.credentials[origin] = Authorization.Session(scheme, .password(user: user, password: password))
    case (.bearer(let token), let scheme?, _):
      job.credentials[origin] = Authorization.Session(scheme, .token(token))
    case (.trustShownKey, nil, let key?):
      job.trustedKeys[segment.url.host] = key
      return requestAgain(job, segment)
    default:
      return conclude(job, segment, .fail(unanswered(job, segment, asked)))
    }
    guard job.credentials[origin] != nil else {
      return conclude(
        job, segment,
        .fail(
          TransferFailure(
            .challenge,
            detail: "the answer doesn't fit what \(name(of: origin)) asks for (\(asked.scheme?.scheme.rawValue ?? ""))")
        ))
    }
    requestAgain(job, segment)
  }

  /// Nobody had an answer, or none but the one that was refused.
  private func unanswered(_ job: ActiveJob, _ segment: Segment, _ asked: Asked) -> TransferFailure {
    let peer = name(of: asked.challenge.origin)
    guard let scheme = asked.scheme?.scheme.rawValue else {
      let problem = segment.trustProblem ?? "its certificate isn't trusted"
      return TransferFailure(.trust, detail: "\(peer): \(problem)")
    }
    let wasGiven = job.credentials[asked.challenge.origin] != nil
    return TransferFailure(
      .challenge, status: asked.challenge.origin == "proxy" ? 407 : 401,
      detail: wasGiven
        ? "\(peer) refused the credential that it was given (\(scheme))"
        : "\(peer) asks for a credential (\(scheme)), and nobody gave it")
  }

  func authorization(_ job: ActiveJob, _ url: ParsedURL, method: String) -> [Download.Header] {
    let target = url.path + (url.query.map { "?\($0)" } ?? "")
    return credential(job, of: url.origin, "Authorization", method: method, target: target)
  }

  /// What a proxy asked for: it sees another target, and for a tunnel another method (RFC 9112, 3.2).
  func proxyAuthorization(_ job: ActiveJob, _ url: ParsedURL, method: String) -> [Download.Header] {
    let isTunnel = url.scheme == "https"
    return credential(
      job, of: "proxy", "Proxy-Authorization", method: isTunnel ? "CONNECT" : method,
      target: isTunnel ? "\(url.host):\(url.port)" : url.text)
  }

  private func credential(
    _ job: ActiveJob, of origin: String, _ name: String, method: String, target: String
  ) -> [Download.Header] {
    guard var session = job.credentials[origin] else { return [] }
    let value = session.header(method: method, target: target, cnonce: String(random.next(), radix: 16))
    job.credentials[origin] = session
    return [Download.Header(name: name, value: value)]
  }

  // MARK: Server trust

  /// Phase 1 failed strictly. Where somebody may be asked, the chain is taken by a handshake that sends no request.
  func untrusted(_ job: ActiveJob, _ segment: Segment, _ end: TransportEnd, _ fault: TLSDiagnosis.Fault) {
    let problem = Printable.text(end.message)
    if fault == .notYetValid {
      if switchesSource(job, segment, "\(segment.url.origin): \(problem)", nil) || holdForClock(job, problem) { return }
    }
    // Where revocation counts, nothing is open to question; and old TLS isn't spoken whomever one trusts.
    guard fault != .oldTLS, options.transport.revocation[segment.url.host] == nil, options.answerChallenge != nil,
      job.trustedKeys[segment.url.host] == nil,
      options.transport.pins[segment.url.host] == nil, challenges(job, segment.url.origin) < Self.maxChallenges
    else {
      return conclude(
        job, segment,
        .fail(TransferFailure(.trust, hop: segment.visited.count, detail: "\(segment.url.origin): \(problem)")))
    }
    segment.trustProblem = problem
    segment.plan = nil
    segment.transfer = TransferID(number: number())
    segments[segment.transfer] = segment
    var request = TransportRequest(url: segment.url, headers: [])
    request.looksAtChainOnly = true
    request.proxyHeaders = proxyAuthorization(job, segment.url, method: segment.method(of: job))
    segment.headDeadline = clock.boot + options.transport.connectTimeout
    transport.start(request, as: segment.transfer)
  }

  func chainShown(_ job: ActiveJob, _ segment: Segment, _ end: TransportEnd) {
    guard let problem = segment.trustProblem, let leaf = end.chain.first, let key = PEMText(leaf).pin else {
      return conclude(
        job, segment,
        .fail(
          TransferFailure(.trust, detail: "\(segment.url.origin): its certificate isn't trusted, and it showed none")))
    }
    let challenge = AuthenticationChallenge(
      kind: .serverTrust(chain: end.chain, problem: problem), origin: segment.url.origin,
      app: job.record.specification.app,
      identifier: job.record.specification.identifier, previousFailureCount: challenges(job, segment.url.origin))
    authenticate(job, segment, Asked(challenge: challenge, key: key))
  }
}
