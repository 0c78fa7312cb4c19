internal import AssetModel
internal import LinuxSystem

/// The connections of a job with a chunk list: one, or several side by side.
extension EngineCore {
  private func maxConnections(_ job: ActiveJob) -> Int {
    job.planner.maxConnections(
      job.record.transferClass,
      ConnectionPlanner.Limits(foreground: options.maxSegments, essential: options.maxEssentialSegments))
  }

  /// Starts a connection on the next missing chunks. Whether there was anything to start.
  @discardableResult
  func addSegment(_ job: ActiveJob) -> Bool {
    guard let (source, url) = nextSource(job) else { return false }
    let origin = originNumber(url)
    // Whom the server asked to wait, waits with all connections.
    if origins[origin].asksToWait(now: clock.boot), job.file.chunks?.missingBytes != 0 {
      guard job.segments.isEmpty else { return false }
      let until = origins[origin].retryAfter ?? clock.boot
      // The queue knows of one origin only.
      settle(job, job.sources.urls.count == 1 ? .yield : rest(job, url, until: until))
      return false
    }
    if job.segments.isEmpty, origins[origin].isRangeless || job.sources.isRangeless(source) {
      job.planner.mayBeRangeless = true
    }
    guard let list = job.file.chunks?.list else { return false }
    let piece = job.planner.pieceSize(
      missing: job.file.chunks?.missingBytes ?? 0, chunkSize: list.chunkSize, connections: job.segments.count,
      most: maxConnections(job))
    guard let (run, first) = job.file.chunks?.claim(atMost: piece, of: source) else { return false }
    let last = list.range(of: run.upperBound - 1).upperBound - 1
    // Without a condition: the digests of the chunks say whether it is the same file, and edges with tags of their own do.
    let segment = Segment(
      job: job.id, transfer: TransferID(number: number()),
      ask: job.planner.mayBeRangeless ? .whole : .range(from: first, to: last, condition: .unbound), source: source,
      url: url,
      start: first,
      stall: StallWindow(isForeground: job.record.transferClass == .foreground, now: clock.boot))
    segment.chunks = run
    // What is for the first is for nobody else.
    segment.request.dropsCredentials = url.origin != Self.origin(of: job.record.specification.url)
    job.segments.append(segment)
    scheduler.setConnections(job.segments.count, of: job.id)
    request(job, segment)
    return true
  }

  /// More connections, where they pay.
  func considerSegment(_ job: ActiveJob, _ now: Duration) {
    let most = maxConnections(job)
    guard job.phase == .transferring, job.next == nil, job.record.partial != nil, let chunks = job.file.chunks,
      job.segments.count < most, scheduler.permitsConnection(of: job.id)
    else { return }
    let additions = job.planner.additions(
      missing: chunks.missingBytes, connections: job.segments.count, most: most,
      hashesChunks: job.file.hashing.chunks > 0, written: job.file.written.bytes, now: now)
    for _ in 0..<additions where scheduler.permitsConnection(of: job.id) {
      guard addSegment(job) else { return }
    }
  }

  /// A connection that is far behind isn't waited for.
  func relieveSlowest(_ job: ActiveJob, _ now: Duration) {
    guard job.phase == .transferring, job.next == nil, !buckets.isLimited, let chunks = job.file.chunks else { return }
    let slowest = job.planner.slowest(
      of: job.segments.map { connection($0, chunks.list) }, missing: chunks.missingBytes, now: now,
      hasOther: { job.sources.hasOther(than: $0) }, hasQuicker: { job.sources.hasOtherQuick(than: $0) })
    guard let slowest else { return }
    let segment = job.segments[slowest]
    events.send(
      .note(job.id, "a connection to \(segment.request.url.origin) is slow; its rest is asked for on another"))
    job.sources.noteSlow(segment.source)
    giveUp(segment, of: job)
    addSegment(job)
  }

  private func connection(_ segment: Segment, _ list: ChunkList) -> ConnectionPlanner.Connection {
    let remaining = segment.writer.flatMap { writer in
      segment.chunks.map { list.range(of: $0.upperBound - 1).upperBound - writer.offset }
    }
    let isSilent = segment.writer == nil && segment.question == nil && segment.link.headDeadline != nil
    return ConnectionPlanner.Connection(
      source: segment.source, received: segment.received, began: segment.began, remaining: remaining,
      silentSince: isSilent ? segment.link.asked : nil,
      isHeldBack: segment.link.window.limit != nil || segment.isWaitingForAllowance
        || segment.writer?.isPaused ?? false)
  }

  func noteRate(_ segment: Segment, of job: ActiveJob) {
    job.planner.noteRate(received: segment.received, since: segment.began, now: clock.boot)
  }
}
