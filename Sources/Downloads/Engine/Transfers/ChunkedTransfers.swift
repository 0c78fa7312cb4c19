internal import AssetModel
internal import Basics

/// Jobs with a chunk list: one connection, or several side by side, to the sources that have the bytes. Network thread only.
final class ChunkedTransfers: EnginePart {
  unowned let engine: TransferEngine
  /// Those of them that have a chunk list, and so may have several connections.
  var segmented: [JobID: ActiveJob] = [:]

  init(_ engine: TransferEngine) { self.engine = engine }

  // What it uses of the others.
  var endings: JobEndings { engine.parts.endings }
  var connections: Connections { engine.parts.connections }

  private func maxConnections(_ job: ActiveJob) -> Int {
    job.planner.maxConnections(job.record.transferClass, engine.options.connections)
  }

  /// Starts a connection on the next missing chunks. Whether there was anything to start.
  @discardableResult
  func addSegment(_ job: ActiveJob) -> Bool {
    guard let (source, url) = nextSource(job) else { return false }
    let origin = engine.originNumber(url)
    // Whom the server asked to wait, waits with all connections.
    if engine.origins[origin].asksToWait(now: clock.boot), job.file.chunks?.missingBytes != 0 {
      guard job.segments.isEmpty else { return false }
      let until = engine.origins[origin].retryAfter ?? clock.boot
      // The queue knows of one origin only.
      endings.stop(job, then: job.sources.urls.count == 1 ? .yield : deferral(of: job, to: url, until: until))
      return false
    }
    if job.segments.isEmpty, engine.origins[origin].isRangeless || job.sources.isRangeless(source) {
      job.planner.mayBeRangeless = true
    }
    guard let list = job.file.chunks?.list else { return false }
    let piece = job.planner.pieceSize(
      missing: job.file.chunks?.missingBytes ?? 0, chunkSize: list.chunkSize, connections: job.segments.count,
      maxConnections: maxConnections(job))
    guard let (run, first) = job.file.chunks?.claim(atMost: piece, of: source) else { return false }
    let last = list.range(of: run.upperBound - 1).upperBound - 1
    // Without a condition: the digests of the chunks say whether it is the same file, and edges with tags of their own do.
    let segment = Segment(
      job: job.id, transfer: TransferID(number: engine.number()),
      ask: job.planner.mayBeRangeless ? .whole : .range(from: first, to: last, condition: .unbound), source: source,
      url: url,
      start: first,
      stall: StallWindow(isForeground: job.record.transferClass == .foreground, now: clock.boot))
    segment.chunks = run
    // What the first asks for, no other asks for.
    segment.request.dropsCredentials = url.origin != TransferEngine.origin(of: job.record.specification.url)
    job.segments.append(segment)
    engine.scheduler.setConnections(job.segments.count, of: job.id)
    connections.request(job, segment)
    return true
  }

  /// More connections, where they pay.
  func considerSegment(_ job: ActiveJob, _ now: Duration) {
    let most = maxConnections(job)
    guard job.machine.isTransferring, job.record.partial != nil,
      let chunks = job.file.chunks,
      job.segments.count < most, engine.scheduler.permitsConnection(of: job.id)
    else { return }
    let additions = job.planner.additions(
      missing: chunks.missingBytes, connections: job.segments.count, maxConnections: most,
      hashesChunks: job.file.hashing.chunks > 0, written: job.file.written.bytes, now: now)
    for _ in 0..<additions where engine.scheduler.permitsConnection(of: job.id) {
      guard addSegment(job) else { return }
    }
  }

  /// A connection that is far behind isn't waited for.
  func relieveSlowest(_ job: ActiveJob, _ now: Duration) {
    guard job.machine.isTransferring, let chunks = job.file.chunks else { return }
    let slowest = job.planner.slowest(
      of: job.segments.map { connection($0, chunks.list) }, missing: chunks.missingBytes, now: now,
      hasOther: { job.sources.hasOther(than: $0) }, hasQuicker: { job.sources.hasOtherQuick(than: $0) })
    guard let slowest else { return }
    let segment = job.segments[slowest]
    events.send(
      .note(job.id, "a connection to \(segment.request.url.origin) is slow; what remains of it is asked for on another")
    )
    job.sources.noteSlow(segment.source)
    abandon(segment, of: job)
    addSegment(job)
  }

  func connection(_ segment: Segment, _ list: ChunkList) -> ConnectionPlanner.Connection {
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

  func pieceEnded(_ job: ActiveJob, _ segment: Segment) {
    noteRate(segment, of: job)
    job.sources.succeeded(segment.source)
    detach(segment, of: job)
    // A source that sends everything is asked again when it is known what was wrong.
    let continues =
      !job.planner.mayBeRangeless && (job.segments.isEmpty || engine.scheduler.permitsConnection(of: job.id))
    engine.needsSchedule = true
    guard !continues || !addSegment(job), !job.machine.isDecided else { return }
    finishChunksIfDone(job)
  }

  /// Verifies a file whose chunks are all there, and else asks for those that aren't.
  func finishChunksIfDone(_ job: ActiveJob) {
    guard job.machine.isTransferring, job.segments.isEmpty, job.file.hashing.chunks == 0,
      job.file.writers.values.allSatisfy({ $0.inFlight == 0 })
    else { return }
    if job.file.chunks?.isComplete == true { return endings.stop(job, then: .verify) }
    addSegment(job)
  }

  /// A segment is over; what it didn't bring is for others. The rest is on its way to the file.
  func detach(_ segment: Segment, of job: ActiveJob) {
    releaseChunks(segment, of: job)
    job.segments.removeAll { $0 === segment }
    engine.scheduler.setConnections(max(1, job.segments.count), of: job.id)
  }

  func releaseChunks(_ segment: Segment, of job: ActiveJob) {
    guard let chunks = segment.chunks else { return }
    job.file.chunks?.release(chunks, at: segment.writer?.offset ?? segment.start)
    segment.chunks = nil
  }

  func abandon(_ segment: Segment, of job: ActiveJob) {
    connections.drop(segment)
    segment.writer?.flush()
    detach(segment, of: job)
  }
}
