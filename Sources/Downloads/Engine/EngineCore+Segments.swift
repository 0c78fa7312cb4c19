internal import AssetModel
internal import LinuxSystem

/// The connections of a job with a chunk list: one, or several side by side.
extension EngineCore {
  /// Bytes that one request of several asks for.
  private func pieceSize(_ job: ActiveJob) -> Int64 {
    guard let chunks = job.chunks, maxSegments(job) > 1 else { return .max }
    let share = chunks.missingBytes / Int64(2 * max(1, job.segments.count))
    return min(max(share, chunks.list.chunkSize), 32 << 20)
  }

  private func maxSegments(_ job: ActiveJob) -> Int {
    if job.mayBeRangeless { return 1 }
    switch job.record.transferClass {
    case .foreground: return options.maxSegments
    case .essential: return options.maxEssentialSegments
    case .visible, .prefetch: return 1
    }
  }

  /// Starts a connection on the next missing chunks. Whether there was anything to start.
  @discardableResult
  func addSegment(_ job: ActiveJob) -> Bool {
    guard let (source, url) = nextSource(job) else { return false }
    let origin = originNumber(url)
    // Whom the server asked to wait, waits with all connections.
    if origins.asksToWait(origin, now: clock.boot), job.chunks?.missingBytes != 0 {
      guard job.segments.isEmpty else { return false }
      let until = origins[origin].retryAfter ?? clock.boot
      // The queue knows of one origin only.
      settle(job, job.sources.urls.count == 1 ? .yield : rest(job, url, until: until))
      return false
    }
    if job.segments.isEmpty, origins[origin].rangelessUntil != nil || job.sources.isRangeless(source) {
      job.mayBeRangeless = true
    }
    let piece = pieceSize(job)
    guard let (run, first) = job.chunks?.claim(atMost: piece, of: source), let list = job.chunks?.list else {
      return false
    }
    let last = list.range(of: run.upperBound - 1).upperBound - 1
    // Without a condition: the digests of the chunks say whether it is the same file, and edges with tags of their own do.
    let segment = Segment(
      job: job.id, transfer: TransferID(number: number()),
      ask: job.mayBeRangeless ? .whole : .range(from: first, to: last, condition: .unbound), source: source, url: url,
      start: first,
      stall: StallWindow(isForeground: job.record.transferClass == .foreground, now: clock.boot))
    segment.chunks = run
    // What is for the first is for nobody else.
    segment.dropsCredentials = url.origin != Self.origin(of: job.record.specification.url)
    job.segments.append(segment)
    scheduler.setConnections(job.segments.count, of: job.id)
    request(job, segment)
    return true
  }

  /// More connections, as long as the last ones added throughput.
  func considerSegment(_ job: ActiveJob, _ now: Duration) {
    guard job.phase == .transferring, job.next == nil, job.record.partial != nil, let chunks = job.chunks,
      job.segments.count < maxSegments(job), scheduler.permitsConnection(of: job.id),
      !job.mayBeRangeless || job.pendingChunkHashes == 0,
      chunks.missingBytes >= 16 << 20 || job.segments.isEmpty
    else { return }
    if !job.hasSeveral {
      job.hasSeveral = true
      return openFirstSegments(job)
    }
    guard job.growth.permits(connections: job.segments.count, bytes: job.writtenBytes, now: now) else { return }
    // As many again: what the last ones brought is the best guess at what others will.
    for _ in 0..<max(1, job.segments.count)
    where job.segments.count < maxSegments(job) && scheduler.permitsConnection(of: job.id) {
      guard addSegment(job) else { return }
    }
  }

  /// A file worth it starts with several connections, as soon as the first shows that there are ranges.
  private func openFirstSegments(_ job: ActiveJob) {
    guard let chunks = job.chunks, chunks.missingBytes >= 64 << 20 else { return }
    while job.segments.count < min(4, maxSegments(job)), scheduler.permitsConnection(of: job.id), addSegment(job) {}
  }

  /// A connection that is far behind what another one brought isn't waited for, where no other will come to what is left: its
  /// rest is asked for on a new one.
  func relieveSlowest(_ job: ActiveJob, _ now: Duration) {
    guard job.phase == .transferring, job.next == nil, job.reliefs < Self.maxReliefs, !buckets.isLimited,
      !job.mayBeRangeless,
      let chunks = job.chunks, chunks.missingBytes == 0 || job.segments.count == 1
    else { return }
    for segment in job.segments {
      if isSilent(segment, of: job, now) {
        relieve(segment, of: job)
        return
      }
      guard let writer = segment.writer, let range = segment.chunks, let began = segment.began,
        now - began >= Self.measuringTime, segment.window.limit == nil, !segment.isWaitingForAllowance,
        !writer.isPaused
      else { continue }
      let rate = Double(segment.received) / (now - began).inSeconds
      let rest = Double(chunks.list.range(of: range.upperBound - 1).upperBound - writer.offset)
      let isBehind = rest > rate * (rest / max(job.bestRate, 1) * 4 + Self.measuringTime.inSeconds)
      // With nothing to compare it with, somebody else is tried.
      let isPoor =
        job.bestRate < Self.poorRate && rate < Self.poorRate && now - began >= Self.timeToBePoor
        && job.sources.hasOtherQuick(than: segment.source)
      guard rest > 0, isBehind || isPoor else { continue }
      relieve(segment, of: job)
      return
    }
  }

  private func relieve(_ segment: Segment, of job: ActiveJob) {
    job.reliefs += 1
    events.send(.note(job.id, "a connection to \(segment.url.origin) is slow; its rest is asked for on another"))
    job.sources.noteSlow(segment.source)
    giveUp(segment, of: job)
    addSegment(job)
  }

  /// Nothing came of it at all, and another source may have what only it was asked for.
  private func isSilent(_ segment: Segment, of job: ActiveJob, _ now: Duration) -> Bool {
    segment.writer == nil && segment.question == nil && segment.headDeadline != nil
      && now - segment.asked >= Self.measuringTime && job.sources.hasOther(than: segment.source)
  }

  private static let maxReliefs = 16
  private static let measuringTime: Duration = .seconds(3)
  /// Bytes per second below which, after so long, a mirror may do better.
  private static let poorRate = 64.0 * 1024
  private static let timeToBePoor: Duration = .seconds(10)

  /// What one connection can bring, by which others are measured.
  func noteRate(_ segment: Segment, of job: ActiveJob) {
    guard let began = segment.began, segment.received >= 256 << 10, clock.boot > began else { return }
    job.bestRate = max(job.bestRate, Double(segment.received) / (clock.boot - began).inSeconds)
  }
}
