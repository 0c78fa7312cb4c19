internal import AssetModel
internal import Basics
internal import LinuxSystem

/// What follows when a transfer is over: the plan that its head made, its body, or what went wrong.
extension Connections {
  func transfer(_ id: TransferID, ended end: TransportEnd) {
    guard let segment = segments.removeValue(forKey: id), let job = engine.active[segment.job] else { return }
    bodies.paced[id] = nil
    let besides = end.receivedBytes - segment.received
    bodies.charge(job, besides)
    job.allowance.charge(besides)
    noteEdge(job, segment, end)
    guard !job.machine.isDecided else {
      job.segments.removeAll { $0 === segment }
      return
    }
    if !end.chain.isEmpty { return chainShown(job, segment, end) }
    if let plan = segment.plan { return carryOut(plan, job, segment, end) }
    if segment.writer?.isSatisfied == true { return bodyEnded(job, segment) }
    if let problem = end.problem { return ended(job, segment, with: problem, end) }
    bodyEnded(job, segment)
  }

  func carryOut(_ plan: ResponsePlan, _ job: ActiveJob, _ segment: Segment, _ end: TransportEnd) {
    switch plan {
    case .follow(let url, let drops, let becomesGet, let wait):
      if drops, !segment.request.dropsCredentials, !job.record.specification.headers.isEmpty {
        events.send(.note(job.id, "custom headers were dropped on the way to \(url.origin)"))
      }
      // Wherever it was said: who asked to be left alone is, also by those whom others lead there.
      let until = max(engine.origins[engine.originNumber(url)].retryAfter ?? .zero, clock.boot + wait)
      if until > clock.boot {
        if chunked.switchesSource(job, segment, "\(url.origin) asked to be left alone", nil) { return }
        return endings.stop(job, then: chunked.deferral(of: job, to: url, until: until))
      }
      segment.request.follow(url, dropsCredentials: drops, becomesGet: becomesGet)
      requestAgain(job, segment)
    case .again(let ask, let fault):
      askAgain(job, segment, ask, fault)
    case .next(let next):
      isReachable(segment)
      chunked.endTransfer(job, segment, next)
    case .elsewhere(let why):
      if !chunked.switchesSource(job, segment, why, nil, isFailure: false) {
        endings.stop(job, then: .askOtherwise(why))
      }
    case .problem(let problem, let retryAfter):
      endings.attemptFailed(job, segment, namingGateway(problem, segment.request.url), retryAfter: retryAfter)
    case .authenticate(let question):
      authenticate(job, segment, question)
    // Decided when the head came.
    case .challenged: break
    case .complete:
      endings.stop(job, then: .verify)
    case .unchanged(let known):
      isReachable(segment)
      job.segments.removeAll { $0 === segment }
      endings.finishUnchanged(job, known)
    }
  }

  /// The road is free to where it was asked at last, and to where it was asked first: failures count there.
  private func isReachable(_ segment: Segment) {
    engine.origins[engine.originNumber(segment.request.url)].breaker.succeeded()
    if let first = segment.request.visited.first { engine.origins[engine.originNumber(first)].breaker.succeeded() }
  }

  private func askAgain(_ job: ActiveJob, _ segment: Segment, _ ask: ResumePolicy.Ask, _ fault: ResumePolicy.Fault) {
    switch fault {
    case .server(let what)
    where segment.request.ask != .whole
      && chunked.switchesSource(job, segment, "\(segment.request.url.origin): \(what)", nil, isFailure: false):
      return
    case .server(let what):
      job.record.history.serverFaults += 1
      events.send(.note(job.id, "\(segment.request.url.origin): \(what)"))
      if job.record.history.serverFaults > ResponseInterpreter.maxServerFaults || segment.request.ask == .whole {
        return endings.attemptFailed(job, segment, .protocolFault(what), retryAfter: nil)
      }
      if job.file.chunks != nil {
        // Once more as it was; a server without ranges may still have the whole.
        if job.record.history.serverFaults > 1 { job.planner.mayBeRangeless = true }
        return endings.stop(job, then: .askOtherwise(what))
      }
    case .bareRange: job.record.history.triedBareRange = true
    case .dropsRange:
      segment.request.hasLostRange = true
      events.send(
        .note(job.id, "\(segment.request.url.origin) heeds no range with this condition; it is asked otherwise"))
    case .severalParts:
      if gotParts(job, segment) { return }
    case .misdirected: segment.request.wasMisdirected = true
    case .endless:
      // The older protocol shows where a body of unknown length ends.
      job.avoidsHTTP2 = true
      events.send(.note(job.id, "\(segment.request.url.origin) gave no length over HTTP/2; it is asked over HTTP/1.1"))
    case .elsewhere: events.send(.note(job.id, "the redirects lead elsewhere now: \(segment.request.url.origin)"))
    case .stale: job.record.history.digestMismatches += 1
    case .coded:
      job.record.history.triedNoTransform = true
    case .probe: break
    }
    // A part of a file in chunks stays that part.
    if job.file.chunks == nil {
      if ask == .whole, case .server(let what) = fault { segment.request.whyWhole = what }
      segment.request.ask = ask
    }
    requestAgain(job, segment)
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
    if !chunked.switchesSource(job, segment, what, nil, isFailure: false) {
      job.planner.mayBeRangeless = true
      endings.stop(job, then: .askOtherwise(what))
    }
    return true
  }

  private func bodyEnded(_ job: ActiveJob, _ segment: Segment) {
    // Nothing said where its bytes belong.
    guard let writer = segment.writer else { return endings.attemptFailed(job, segment, .truncated, retryAfter: nil) }
    isReachable(segment)
    if job.file.chunks != nil, !writer.isShort {
      writer.flush()
      return chunked.pieceEnded(job, segment)
    }
    if writer.isShort {
      writer.flush()
      return endings.attemptFailed(job, segment, .truncated, retryAfter: nil)
    }
    if let end = segment.partEnd {
      writer.flush()
      // The rest is asked for at once, where the parts lead to an end.
      guard RetryPolicy.isProgress(durable: end, highWater: segment.start, total: job.total) else {
        return endings.attemptFailed(job, segment, .truncated, retryAfter: nil)
      }
      job.file.evidence.check = writer.check
      return endings.stop(job, then: .yield)
    }
    if !job.file.evidence.isLengthProved, job.record.specification.exactSize == nil,
      ResumePolicy.knownDigest(job.record) == nil
    {
      return endings.stop(
        job,
        then: .fail(
          TransferFailure(
            .refused,
            cause: .digestNeeded(why: "the server tells no length, so a cut connection looks like the file's end"))))
    }
    keepWhole(job, writer)
    job.file.evidence.check = writer.check
    endings.stop(job, then: .verify)
  }

  /// A small file that arrived in one piece stays in memory until it is published.
  private func keepWhole(_ job: ActiveJob, _ writer: BodyWriter) {
    guard job.file.written.offset == 0, !job.file.identity.isJournalled, !job.file.identity.isOnItsWay,
      job.file.failure == nil,
      let content = writer.takeWhole(atMost: JobFile.small)
    else { return }
    bodies.charge(job, Int64(content.count))
    job.file.content = content
    job.file.written.offset = Int64(content.count)
    job.file.written.bytes += Int64(content.count)
  }

  /// What a proxy answers to a request in the clear looks like what it passes on.
  private func namingGateway(_ problem: TransferProblem, _ url: ParsedURL) -> TransferProblem {
    guard case .status(let status) = problem, (502...504).contains(status), url.scheme == "http",
      engine.options.transport.isProxied(url)
    else { return problem }
    return .gateway(status, by: "\(engine.options.transport.proxyName(for: url)), or \(url.origin) behind it,")
  }

  /// Whom a problem is said of. Which of the two was silent can't be told through a proxy.
  static func peer(_ problem: TransportEnd.Problem, _ origin: String, _ proxy: String, isProxied: Bool) -> String {
    switch problem {
    case .proxy: proxy
    case .timeout where isProxied: "\(proxy), or \(origin) behind it"
    default: origin
    }
  }

  func ended(_ job: ActiveJob, _ segment: Segment, with problem: TransportEnd.Problem, _ end: TransportEnd) {
    let url = segment.request.url
    let (proxy, origin) = (engine.options.transport.proxyName(for: url), url.origin)
    let peer = Self.peer(problem, origin, proxy, isProxied: engine.options.transport.isProxied(url))
    let text =
      end.proxyStatus.map { "\(proxy) answered \($0): it can't reach \(origin)" }
      ?? "\(peer): \(Printable.text(end.message))"
    if segment.writer?.overflowed == true {
      return chunked.endTransfer(
        job, segment,
        .fail(
          TransferFailure(
            .sizeMismatch,
            detail: "\(segment.request.url.origin) sent more bytes than the file has; nothing of the surplus was taken")
        ))
    }
    if segment.writer?.differs == true {
      let (plan, reason) = ResponseInterpreter.changed(
        &job.record.history, otherwise: "its file changes with every request")
      if let reason { endings.startAfresh(job, reason: reason) }
      return carryOut(plan, job, segment, end)
    }
    switch problem {
    case .refusedAddress(let refusal):
      let cause = refusal.cause(of: segment.request.url.host)
      chunked.endTransfer(
        job, segment, .fail(TransferFailure(.notAllowed, hop: segment.request.visited.count, cause: cause)))
    case .untrusted(let fault): untrusted(job, segment, end, fault)
    case .clientCertificate(let demand): certificateDemanded(job, segment, demand, text)
    case .aborted:
      endings.attemptFailed(job, segment, .protocolFault(text), retryAfter: nil)
    case .reset where end.cameTooLate && segment.link.timesTooLate < Self.maxTimesTooLate,
      .http2 where end.cameTooLate && segment.link.timesTooLate < Self.maxTimesTooLate:
      segment.link.timesTooLate += 1
      requestAgain(job, segment)
    default:
      noteHTTP2(segment, problem, end)
      endings.attemptFailed(job, segment, Self.transient(problem, text), retryAfter: nil)
    }
  }

  /// A broken stream is like a broken connection; a broken connection leaves a protocol that can be broken in fewer ways.
  private func noteHTTP2(_ segment: Segment, _ problem: TransportEnd.Problem, _ end: TransportEnd) {
    // A request fits into one packet. What can't be sent are answers to a flood: there is a limit to those that wait.
    if end.brokeSending, !end.cameTooLate { distrustHTTP2(segment) }
    switch problem {
    case .http2(.enhanceYourCalm):
      let number = engine.originNumber(segment.request.url)
      engine.origins[number].reduceConcurrency(now: clock.boot)
      engine.scheduler.halve(number)
      events.send(.note(segment.job, "\(segment.request.url.origin) asks for fewer requests at once"))
    case .http2(.connection): distrustHTTP2(segment)
    default: break
    }
  }

  /// The next attempt is by HTTP/1.1.
  func distrustHTTP2(_ segment: Segment) {
    guard segment.link.mayBeHTTP2 else { return }
    engine.origins[engine.originNumber(segment.request.url)].distrustHTTP2(now: clock.boot)
  }

  /// The edges of a content network may tag the same bytes differently. A file that changed as often as is believed, and of
  /// which nothing else tells what it is, stays with the address that served it last.
  private func staysAtEdge(_ job: ActiveJob, _ url: ParsedURL) -> Bool {
    job.record.history.validatorRestarts >= ResponseInterpreter.maxValidatorRestarts && job.file.chunks == nil
      && ResumePolicy.knownDigest(job.record) == nil && !engine.options.transport.isProxied(url)
  }

  /// The address that its next request goes to; nil: any that the name has.
  func edge(for job: ActiveJob, _ url: ParsedURL) -> String? {
    staysAtEdge(job, url) ? engine.origins[engine.originNumber(url)].edge : nil
  }

  private func noteEdge(_ job: ActiveJob, _ segment: Segment, _ end: TransportEnd) {
    guard staysAtEdge(job, segment.request.url) else { return }
    let number = engine.originNumber(segment.request.url)
    if segment.writer != nil {
      engine.origins[number].edge = end.remoteAddress.isEmpty ? nil : end.remoteAddress
    } else if end.problem != nil {
      // It may be gone for good; the others have the file, too.
      engine.origins[number].edge = nil
    }
  }

  /// Connections that may go away under a request, one after the other, before that is a failed attempt. Servers end
  /// each after so many requests, and what is on its way by then counts against neither side.
  static let maxTimesTooLate = 3

  private static func transient(_ problem: TransportEnd.Problem, _ text: String) -> TransferProblem {
    switch problem {
    case .resolve: .resolve(text)
    case .connect: .connect(text)
    case .tls: .tls(text)
    case .proxy: .proxy(text)
    case .http2(let fault): .http2(enhanceYourCalm: fault == .enhanceYourCalm, detail: text)
    case .truncated: .truncated
    case .protocolFault: .protocolFault(text)
    case .reset, .timeout, .other, .untrusted, .clientCertificate, .refusedAddress, .aborted: .reset(text)
    }
  }
}
