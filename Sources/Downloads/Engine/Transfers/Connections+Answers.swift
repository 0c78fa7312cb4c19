internal import AssetModel
internal import LinuxSystem

/// What servers say: `ResponseInterpreter` decides, and it is carried out here.
extension Connections {
  func transfer(_ id: TransferID, sentHostileHead failure: HeadFailure, overHTTP2: Bool) {
    guard let segment = segments[id] else { return }
    guard overHTTP2 else {
      segment.plan = .next(.fail(TransferFailure(.hostileResponse, detail: failure.description)))
      return
    }
    // The older protocol has no compression of fields to bomb with: it is asked once what that brings.
    engine.origins[engine.originNumber(segment.request.url)].distrustHTTP2(now: clock.boot)
    segment.plan = .problem(.protocolFault("HTTP/2: \(failure.description)"), retryAfter: nil)
  }

  func transfer(_ id: TransferID, answered head: ResponseHead) -> HeadVerdict {
    guard let segment = segments[id], let job = engine.active[segment.job], !job.machine.isDecided else {
      return .abort
    }
    if engine.options.transport.isProxied(segment.request.url) { network.proxyHealth.answered() }
    segment.link.headDeadline = nil
    segment.link.timesTooLate = 0
    segment.link.mayBeHTTP2 = head.version.major == 2
    segment.stall = StallWindow(isForeground: job.record.transferClass == .foreground, now: clock.boot)
    let plan = plan(job, segment, head)
    segment.plan = plan
    guard let plan else {
      if let tell = engine.options.toldServerName,
        let name = head.fields.first(where: { $0.name == "content-disposition" }).flatMap(ContentDisposition.fileName)
      {
        tell(job.id, name)
      }
      return .take
    }
    // An unwanted body has as much time as its head had.
    if plan.verdict == .drain { segment.link.headDeadline = clock.boot + Self.headTimeout }
    return plan.verdict
  }

  func transferConnected(_ id: TransferID) {
    guard let segment = segments[id], !segment.link.isConnected, segment.link.headDeadline != nil else { return }
    segment.link.isConnected = true
    segment.link.headDeadline = clock.boot + Self.headTimeout
  }

  /// nil: the body is wanted.
  func plan(_ job: ActiveJob, _ segment: Segment, _ head: ResponseHead) -> ResponsePlan? {
    var interpreter = interpreter(job, segment, head)
    let plan = interpreter.plan()
    let takes = keep(interpreter, job, segment)
    if case .challenged? = plan { return challenged(job, segment, head) }
    if plan == nil, takes, let shortage = room.shortageOfNews(job) { return .next(.hold(.disk(shortage), after: nil)) }
    return plan
  }

  private func interpreter(_ job: ActiveJob, _ segment: Segment, _ head: ResponseHead) -> ResponseInterpreter {
    let chunks = job.file.chunks.map { _ in
      ResponseInterpreter.Chunks(
        arrivedBytes: job.arrivedBytes, connections: job.segments.count,
        hasAnotherSource: job.sources.hasOtherWithRanges(than: segment.source))
    }
    return ResponseInterpreter(
      head: head, request: segment.request, start: segment.start,
      offset: chunks == nil ? job.file.written.offset : segment.start, chunks: chunks,
      rules: engine.options.transport.hostRules(job.record.specification), wall: clock.now.wall / 1_000_000_000,
      known: segment.known, hasAnswered: job.access.hasAnswered, record: job.record, cookies: job.cookies,
      mayBeRangeless: job.planner.mayBeRangeless)
  }

  /// Keeps what an interpretation found out. Whether the body goes into the file as it comes.
  func keep(_ interpreter: ResponseInterpreter, _ job: ActiveJob, _ segment: Segment) -> Bool {
    job.record.history = interpreter.record.history
    job.cookies = interpreter.cookies
    job.planner.mayBeRangeless = interpreter.mayBeRangeless
    var takes = false
    let number = engine.originNumber(segment.request.url)
    for effect in interpreter.effects {
      switch effect {
      case .originHasNoRanges: if engine.origins[number].hasNoRanges(now: clock.boot) { journalOrigin(number) }
      case .originHonours(let condition):
        if engine.origins[number].honours(condition, now: clock.boot) { journalOrigin(number) }
      case .retryAfter(let wait, let value):
        if engine.origins[number].setRetryAfter(until: clock.boot + wait, value: value) { journalOrigin(number) }
      case .startAfresh(let reason, let isAnother): endings.startAfresh(job, reason: reason, isAnother: isAnother)
      case .keepDigests: keepDigests(of: interpreter.head, job)
      case .take(let entity, let offset):
        accept(job, segment, entity, interpreter.head, from: offset)
        engine.needsSchedule = engine.needsSchedule || segment.chunks != nil
        takes = true
      case .takePart(let entity, let offset, let end):
        accept(job, segment, entity, interpreter.head, from: offset, upTo: end)
        segment.partEnd = end
        engine.needsSchedule = engine.needsSchedule || segment.chunks != nil
        takes = true
      case .takeWhole(var entity, let provesLength):
        let known = job.file.evidence.mismatched?.digests(for: entity) ?? []
        job.file.evidence.declaredDigests += known
        entity.reprDigest = entity.reprDigest ?? known.first
        job.file.evidence.isLengthProved = provesLength
        accept(job, segment, entity, interpreter.head, from: 0)
        takes = true
      case .takeMissingChunks(let entity):
        guard let list = job.file.chunks?.list else { break }
        job.file.chunks?.release(segment.chunks ?? 0..<0, at: segment.start)
        segment.chunks = 0..<list.count
        let wanted = job.file.chunks?.claimAll(of: segment.source)
        accept(job, segment, entity, interpreter.head, from: 0, wanted: wanted)
      }
    }
    return takes
  }

  /// Digests of a coded representation say nothing about the file.
  private func keepDigests(of head: ResponseHead, _ job: ActiveJob) {
    // What the download itself declares needs no word of the server's.
    guard job.record.specification.digest == nil, head.contentCoding == nil else { return }
    let told = DigestField(head.values("repr-digest"))?.known ?? []
    job.file.evidence.declaredDigests += told.filter { !job.file.evidence.declaredDigests.contains($0) }
  }

  /// Bytes follow that belong at `offset`.
  func accept(
    _ job: ActiveJob, _ segment: Segment, _ entity: Entity, _ head: ResponseHead, from offset: Int64,
    upTo partEnd: Int64? = nil, wanted: [Range<Int64>]? = nil
  ) {
    if var partial = job.record.partial {
      partial.entity = entity
      job.record.partial = partial
    } else {
      job.record.partial = Partial(
        stagingName: job.file.staging?.name ?? "", entity: entity, bootIdentifier: clock.bootIdentifier, device: 0,
        inode: 0)
    }
    // A digest of the whole file may have come with this response.
    job.file.expect(ResumePolicy.knownDigest(job.record))
    if let declared = job.record.specification.declaredSize, let total = entity.total, declared != total,
      job.record.specification.exactSize == nil
    {
      events.send(.note(job.id, "the server has \(total) bytes, \(declared) were declared"))
    }
    segment.start = offset
    segment.began = clock.boot
    let end: Int64? =
      if let partEnd {
        partEnd
      } else if let chunks = segment.chunks, let list = job.file.chunks?.list {
        list.range(of: chunks.upperBound - 1).upperBound
      } else { job.record.specification.exactSize ?? entity.total }
    let activation = job.activation
    // A chunk list says more, and what it says counts more.
    let check = job.file.chunks == nil ? ContentCheck(head, from: offset) : nil
    let tail = offset == 0 ? [] : job.file.written.tail
    job.file.written.tail = []
    tail.withUnsafeBytes { check?.take($0) }
    let writer = BodyWriter(
      number: engine.number(), from: offset, to: end, wanted: wanted, comparing: tail, check: check, pool: pool
    ) { [unowned self] writer, buffer in
      guard let job = engine.job(activation) else { return }
      bodies.write(buffer, from: writer, of: job)
    }
    job.file.writers[writer.number] = writer
    if !job.file.identity.isJournalled { writer.holdAt = JobFile.worthAnIdentity }
    segment.writer = writer
  }

  /// What another run has to know of it.
  func journalOrigin(_ number: UInt32) {
    let record = engine.origins[number].record(of: engine.origins.name(of: number), now: clock.boot, moment: clock.now)
    engine.outstanding += 1
    let mailbox = mailbox
    journal.commit([.origin(record)]) { _ in mailbox.post(.control(.originJournalled)) }
  }
}
