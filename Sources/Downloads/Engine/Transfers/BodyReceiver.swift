internal import AssetModel
internal import Basics

/// Bytes on their way: from the socket to buffers, to the file, to the digest, to the journal. Network thread only.
final class BodyReceiver: EnginePart {
  unowned let engine: TransferEngine
  var buckets: RateBuckets
  /// It wrote without its lane; what follows of that waits until the transport has returned.
  var writtenInPlace: ActiveJob?
  /// Since the transport was called: how much was written so, and how long that took.
  var inPlace: (bytes: Int64, time: Duration) = (0, .zero)
  /// Transfers that wait for their share of the rate, each until then.
  var paced: [TransferID: (segment: Segment, until: Duration)] = [:]

  init(_ engine: TransferEngine) {
    self.engine = engine
    buckets = RateBuckets(engine.options)
  }

  // What it uses of the others.
  var endings: JobEndings { engine.parts.endings }
  var room: RoomKeeper { engine.parts.room }
  var chunked: ChunkedTransfers { engine.parts.chunked }

  func receive(_ bytes: UnsafeRawBufferPointer, on segment: Segment) -> DataVerdict {
    guard let writer = segment.writer else { return .abort }
    let now = clock.boot
    if let until = paced[segment.transfer]?.until, until > now {
      segment.stall.pausedByUs(at: now)
      return .pause
    }
    let job = engine.active[segment.job]
    if let job, !room.mayReceive(Int64(bytes.count), job) {
      segment.isWaitingForAllowance = true
      segment.stall.pausedByUs(at: now)
      return .pause
    }
    let skipped = writer.skipped
    let verdict = writer.append(bytes)
    if writer.skipped > skipped, let job { charge(job, writer.skipped - skipped) }
    switch verdict {
    case .taken:
      job?.allowance.charge(Int64(bytes.count))
      segment.received += Int64(bytes.count)
      segment.stall.received(bytes.count, at: now)
      if buckets.isLimited, let job {
        let wait = buckets.take(bytes.count, job.record.transferClass, at: now)
        if wait > .zero { paced[segment.transfer] = (segment, now + wait) }
      }
    case .pause: segment.stall.pausedByUs(at: now)
    case .abort: break
    }
    return verdict
  }

  func resumePaced(_ now: Duration) {
    guard !paced.isEmpty else { return }
    for (id, (segment, until)) in paced where until <= now {
      paced[id] = nil
      resume(segment, now)
    }
  }

  func resume(_ segment: Segment, _ now: Duration) {
    segment.stall.resumed(at: now)
    transport.resume(segment.transfer)
  }

  func charge(_ job: ActiveJob, _ bytes: Int64) {
    job.record.receivedBytes += bytes
    engine.scheduler.received(bytes, by: job.id)
  }

  func setRates(_ all: Int64?, _ classes: [TransferClass: Int64]) {
    engine.options.bytesPerSecond = all
    engine.options.classBytesPerSecond = classes
    buckets = RateBuckets(engine.options)
    // A transfer that waits for a share of the old ones learns of the new ones with its next bytes.
    for id in paced.keys { paced[id]?.until = .zero }
  }

  /// A buffer is done with: its transfer may receive another one.
  func giveRoom(_ number: UInt64, _ job: ActiveJob) {
    guard let writer = job.file.writers[number] else { return }
    let continues = writer.written()
    let segment = job.segments.first { $0.writer === writer }
    if writer.inFlight == 0, segment == nil { job.file.writers[number] = nil }
    if continues, let segment { resume(segment, clock.boot) }
  }

  func tellProgress(_ job: ActiveJob, _ now: Duration) {
    if job.meter.isDue(now) { events.send(.progress(job.id, job.progress(now))) }
  }
}
