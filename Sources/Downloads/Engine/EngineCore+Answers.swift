internal import AssetModel
internal import LinuxSystem

/// What servers say, and what follows from it.
extension EngineCore: TransportClient {
  func transfer(_ id: TransferID, sentHostileHead failure: HeadFailure, overHTTP2: Bool) {
    guard let segment = segments[id] else { return }
    // The older protocol has no compression of fields to bomb with: it is asked once what that brings.
    segment.plan =
      overHTTP2
      ? leaveHTTP2(segment.url, .protocolFault("HTTP/2: \(failure.description)"))
      : .next(.fail(TransferFailure(.hostileResponse, detail: failure.description)))
  }

  func transferConnected(_ id: TransferID) {
    guard let segment = segments[id], !segment.isConnected, segment.headDeadline != nil else { return }
    segment.isConnected = true
    segment.headDeadline = clock.boot + Self.headTimeout
  }

  func transfer(_ id: TransferID, answered head: ResponseHead) -> HeadVerdict {
    guard let segment = segments[id], let job = active[segment.job], job.next == nil else { return .abort }
    if isProxied(segment.url) { proxyHealth.answered() }
    segment.headDeadline = nil
    segment.timesTooLate = 0
    segment.mayBeHTTP2 = head.version.major == 2
    segment.stall = StallWindow(isForeground: job.record.transferClass == .foreground, now: clock.boot)
    let plan = self.plan(job, segment, head)
    segment.plan = plan
    if plan == nil, options.tellsDisposition, let text = head.first("content-disposition") {
      events.send(.disposition(job.id, text))
    }
    switch plan {
    case nil: return .take
    case .again(_, .server), .again(_, .dropsRange), .again(_, .severalParts), .problem(.protocolFault, _):
      return .abort
    case .follow, .again, .authenticate, .problem:
      // A body that nobody wants has as much time as its head had.
      segment.headDeadline = clock.boot + Self.headTimeout
      return .drain
    case .next, .elsewhere, .complete, .unchanged: return .abort
    }
  }

  /// nil: the body is wanted.
  private func plan(_ job: ActiveJob, _ segment: Segment, _ head: ResponseHead) -> Segment.Plan? {
    switch head.status {
    case 301, 302, 303, 307, 308:
      let setsCookie = job.cookies.take(
        head.values("set-cookie"), from: segment.url, now: clock.now.wall / 1_000_000_000)
      let decision = RedirectPolicy.decide(
        status: head.status, method: segment.method(of: job), hasBody: !segment.body(of: job).isEmpty,
        location: head.values("location"), from: segment.url, visited: segment.visited,
        rules: hostRules(job.record.specification), setsCookie: setsCookie)
      switch decision {
      case .follow(let url, let drops, let becomesGet):
        // It is the redirected request that has to wait (RFC 9110, 10.2.3), and no other: what one origin says is nothing
        // that the next has asked for.
        var wait = Duration.zero
        if !job.record.history.heededRedirect, let asked = waitAsked(head), asked > .zero {
          job.record.history.heededRedirect = true
          wait = asked
        }
        return .follow(url, dropsCredentials: drops, becomesGet: becomesGet, wait: wait)
      case .refuse(var failure):
        failure.hop = segment.visited.count
        return .next(.fail(failure))
      }
    case 401, 407:
      return challenged(job, segment, head)
    case 200, 206, 412, 416:
      // Whoever is let in was answered rightly: being asked again after the next cut isn't a refusal.
      if !job.credentials.isEmpty || !job.identities.isEmpty { job.record.history.challenges = 0 }
      return resumePlan(job, segment, head)
    case 304:
      guard let known = segment.known else { return .problem(.status(head.status), retryAfter: nil) }
      return .unchanged(known)
    case 429, 503:
      let asked = waitAsked(head)
      if let asked { leaveAlone(segment.url, for: asked, value: head.first("retry-after") ?? "") }
      return .problem(.status(head.status), retryAfter: asked)
    default:
      return .problem(.status(head.status), retryAfter: nil)
    }
  }

  private func resumePlan(_ job: ActiveJob, _ segment: Segment, _ head: ResponseHead) -> Segment.Plan? {
    // Believed, it would wait for that much room for ever.
    if let total = ResumePolicy.total(of: head), total > DownloadSpecification.largestSize {
      return .problem(.protocolFault("\(segment.url.origin) says that the file has \(total) bytes"), retryAfter: nil)
    }
    if job.chunks != nil, head.status == 200, segment.ask != .whole,
      job.sources.hasOtherWithRanges(than: segment.source)
    {
      return .elsewhere("\(segment.url.origin) has no ranges")
    }
    if job.chunks != nil, head.status == 200, head.first("accept-ranges")?.lowercased() == "none" {
      job.mayBeRangeless = true
    }
    let isRangeless = ResumePolicy.provesRangeless(ask: segment.ask, head: head)
    // One of many answers may be an odd one.
    if isRangeless, segment.chunks == nil ? segment.start > 0 : job.mayBeRangeless && head.status == 200 {
      let number = originNumber(segment.url)
      let isNews = origins[number].rangelessUntil == nil
      origins[number].rangelessUntil = clock.boot + .seconds(24 * 3600)
      if isNews { journalOrigin(number) }
    }
    let decision = ResumePolicy.decide(
      job.record, offset: job.chunks == nil ? job.writtenOffset : segment.start, ask: segment.ask, head: head,
      finalURL: segment.url.text, isRepeated: segment.hasSeenParts)
    switch decision {
    case .append(let entity):
      noteCondition(segment)
      keepDigests(of: head, job)
      job.mayBeRangeless = false
      accept(job, segment, entity, head, from: segment.start)
      needsSchedule = needsSchedule || segment.chunks != nil
      return held(job)
    case .fresh(var entity, let validatorChanged):
      if job.chunks != nil { return wholeForChunks(job, segment, entity, head) }
      if head.version.major >= 2, head.contentLength.value == nil, job.record.specification.exactSize == nil,
        job.record.specification.digest == nil, entity.reprDigest == nil
      {
        return .again(.whole, .endless)
      }
      if validatorChanged {
        job.record.history.validatorRestarts += 1
        if job.record.history.validatorRestarts > Self.maxValidatorRestarts {
          // The next attempt has nothing to compare with, and may find it settled. It is no progress, however much comes.
          startAfresh(job, reason: "the file changed on the server")
          return .problem(.protocolFault("its file changes with every request"), retryAfter: nil)
        }
      }
      startAfresh(
        job,
        reason: validatorChanged
          ? "the file changed on the server" : segment.whyWhole ?? "the server sends all of it",
        isAnother: validatorChanged)
      keepDigests(of: head, job)
      let known = job.unfulfilled?.digests(for: entity) ?? []
      job.toldDigests += known
      entity.reprDigest = entity.reprDigest ?? known.first
      job.isLengthProved = head.contentLength.value != nil || head.transferCoding == .chunked
      accept(job, segment, entity, head, from: 0)
      return held(job)
    case .restart where job.chunks != nil: return .again(segment.ask, .server("\(head.status) to a request for a part"))
    case .again(.probe, _) where job.chunks != nil:
      return .again(segment.ask, .server("\(head.status) to a request for a part"))
    case .complete: return .complete
    case .restart: return changed(job, otherwise: "\(head.status) to every request for a part")
    case .again(let ask, let fault): return .again(ask, fault)
    case .fail(let failure): return .next(.fail(failure))
    }
  }

  private func held(_ job: ActiveJob) -> Segment.Plan? {
    shortageOfNews(job).map { .next(.hold(.disk($0), nil)) }
  }

  /// Digests of a coded representation say nothing about the file.
  private func keepDigests(of head: ResponseHead, _ job: ActiveJob) {
    // What the download itself declares needs no word of the server's.
    guard job.record.specification.digest == nil, head.contentCoding == nil else { return }
    let told = DigestField(head.values("repr-digest"))?.known ?? []
    job.toldDigests += told.filter { !job.toldDigests.contains($0) }
  }

  static let maxValidatorRestarts = 2
  static let maxOtherwise = 4
  static let maxServerFaults = 3

  /// A server that sends everything where a piece was asked for: what is there already isn't taken again.
  private func wholeForChunks(
    _ job: ActiveJob, _ segment: Segment, _ entity: Entity, _ head: ResponseHead
  ) -> Segment.Plan? {
    guard let list = job.chunks?.list else { return .complete }
    if segment.ask != .whole {
      // With little there, all of it costs no more than asking again.
      let isOdd = !job.mayBeRangeless
      job.mayBeRangeless = true
      if isOdd, job.arrivedBytes > ResumePolicy.worthABareRange { return .again(segment.ask, .bareRange) }
    }
    job.mayBeRangeless = true
    if job.segments.count > 1 { return .next(.other("the server has no ranges")) }
    job.chunks?.release(segment.chunks ?? 0..<0, at: segment.start)
    segment.chunks = 0..<list.count
    accept(job, segment, entity, head, from: 0, wanted: job.chunks?.claimAll(of: segment.source))
    return nil
  }

  /// Bytes follow that belong at `offset`.
  private func accept(
    _ job: ActiveJob, _ segment: Segment, _ entity: Entity, _ head: ResponseHead, from offset: Int64,
    wanted: [Range<Int64>]? = nil
  ) {
    if var partial = job.record.partial {
      partial.entity = entity
      job.record.partial = partial
    } else {
      job.record.partial = Partial(
        stagingName: job.file?.name ?? "", entity: entity, bootIdentifier: clock.bootIdentifier, device: 0, inode: 0)
    }
    // A digest of the whole file may have come with this response.
    makeHasher(job)
    if let declared = job.record.specification.declaredSize, let total = entity.total, declared != total,
      job.record.specification.exactSize == nil
    {
      events.send(.note(job.id, "the server has \(total) bytes, \(declared) were declared"))
    }
    segment.start = offset
    segment.began = clock.boot
    let end: Int64? =
      if let chunks = segment.chunks, let list = job.chunks?.list {
        list.range(of: chunks.upperBound - 1).upperBound
      } else { job.record.specification.exactSize ?? entity.total }
    let (id, run) = (job.id, job.run)
    // A chunk list says more, and what it says counts more.
    let check = job.chunks == nil ? ContentCheck(head, from: offset) : nil
    let tail = offset == 0 ? [] : job.tail
    job.tail = []
    tail.withUnsafeBytes { check?.take($0) }
    let writer = BodyWriter(
      number: number(), from: offset, to: end, wanted: wanted, comparing: tail, check: check, pool: pool
    ) { [unowned self] writer, buffer in
      guard let job = self.job(id, run) else { return }
      write(buffer, from: writer, of: job)
    }
    job.writers[writer.number] = writer
    if !job.isIdentityJournalled { writer.holdAt = Self.worthAnIdentity }
    segment.writer = writer
  }

  /// Bytes up to which a killed service may fetch again: the journal hears of a file before it grows beyond.
  static let worthAnIdentity: Int64 = 8 << 20

  private func waitAsked(_ head: ResponseHead) -> Duration? {
    head.first("retry-after").flatMap { RetryAfter.parse($0, responseDate: head.date) }
  }

  private func leaveAlone(_ url: ParsedURL, for wait: Duration, value: String) {
    let number = originNumber(url)
    let until = clock.boot + wait
    if origins[number].retryAfter.map({ $0 < until }) ?? true {
      origins[number].retryAfter = until
      origins[number].retryAfterValue = Printable.text(value, limit: 40)
      journalOrigin(number)
    }
  }

  /// What another run has to know of it.
  func journalOrigin(_ number: UInt32) {
    let (state, now) = (origins[number], clock.now)
    func wait(_ until: Duration?) -> StoredWait? {
      until.map { StoredWait(since: now, length: ($0 - clock.boot).inNanoseconds) }
    }
    let record = OriginRecord(
      origin: origins.name(of: number), rangeless: wait(state.rangelessUntil), retryAfter: wait(state.retryAfter),
      retryAfterValue: state.retryAfterValue, rangeCondition: state.rangeCondition,
      rangeConditionWait: wait(state.rangeConditionUntil))
    outstanding += 1
    let mailbox = mailbox
    journal.commit([.origin(record)]) { _ in mailbox.post { $0.outstanding -= 1 } }
  }
}
