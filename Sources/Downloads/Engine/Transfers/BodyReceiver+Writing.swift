internal import AssetModel
internal import Dispatch
internal import LinuxSystem

/// Received bytes on their way to the file.
extension BodyReceiver {
  func write(_ buffer: TransferBuffer, from writer: BodyWriter, of job: ActiveJob) {
    guard let file = job.file.staging else { return }
    charge(job, Int64(buffer.count))
    if mayWriteInPlace(job, writer) { return writeInPlace(buffer, to: file, from: writer, of: job) }
    job.file.writesInLane += 1
    let (activation, mailbox, number) = (job.activation, mailbox, writer.number)
    let check = writer.check
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) in try file.write(buffer) }
      check?.take(buffer.bytes)
      let answer: TransferAnswer =
        switch result {
        case .success: .wrote(buffer, number)
        case .failure(let error): .writeFailed(number, error)
        }
      mailbox.post(.transfer(activation, answer))
    }
  }

  func writeFailed(_ number: UInt64, _ job: ActiveJob, _ error: SystemCallError) {
    job.file.writesInLane -= 1
    giveRoom(number, job)
    endings.fileFailed(job, error)
  }

  func wroteInLane(_ buffer: TransferBuffer, _ number: UInt64, _ job: ActiveJob) {
    job.file.writesInLane -= 1
    guard job.file.failure == nil else {
      giveRoom(number, job)
      return endings.continueStopping(job)
    }
    wrote(buffer, number, job)
    followWrites(of: job)
  }

  /// A job that has the network thread for itself writes where it receives: its bytes stay in one processor's cache, and
  /// no other job waits for its disk. Its lane has to be empty, and its disk quick.
  private func mayWriteInPlace(_ job: ActiveJob, _ writer: BodyWriter) -> Bool {
    engine.active.count == 1 && job.machine.isTransferring && !job.file.isSlowToWrite
      && job.file.writesInLane == 0
      && !job.file.identity.isOnItsWay && !job.file.checkpoint.isInFlight && writer.check == nil
  }

  /// Called by the transport, which can't be told anything meanwhile: what follows waits until it has returned.
  private func writeInPlace(
    _ buffer: TransferBuffer, to file: StagingFile, from writer: BodyWriter, of job: ActiveJob
  ) {
    let began = clock.boot
    do throws(SystemCallError) {
      try file.write(buffer)
      wrote(buffer, writer.number, job)
      writtenInPlace = job
      inPlace.bytes += Int64(buffer.count)
    } catch {
      job.file.writesInLane += 1
      mailbox.post(.transfer(job.activation, .writeFailed(writer.number, error)))
    }
    let took = clock.boot - began
    inPlace.time += took
    if took >= Self.slowWrite { job.file.isSlowToWrite = true }
    // One call of the transport may bring very much.
    if inPlace.time >= Self.turn
      || inPlace.bytes >= Self.worthALook && !job.file.isPreallocated && room.shortage(of: job, starts: false) != nil
    {
      writer.waitsForTurn = true
    }
    if inPlace.bytes >= Self.worthALook { inPlace.bytes = 0 }
  }

  /// As long as commands and the timers of all jobs may wait for a disk: once for one write, and else in all.
  private static let slowWrite: Duration = .milliseconds(50)

  static let turn: Duration = .milliseconds(20)

  /// Bytes after which it is seen whether enough of the volume stays free.
  private static let worthALook: Int64 = 1 << 20

  func followWritesInPlace() {
    guard let job = writtenInPlace else { return }
    writtenInPlace = nil
    inPlace = (0, .zero)
    guard engine.active[job.id] === job else { return }
    for writer in job.file.writers.values { writer.waitsForTurn = false }
    // Its body may have ended meanwhile; then all of that is done.
    if job.machine.isTransferring { followWrites(of: job) }
    for segment in job.segments where segment.writer?.takeResumption() == true {
      resume(segment, clock.boot)
    }
  }

  func wrote(_ buffer: TransferBuffer, _ number: UInt64, _ job: ActiveJob) {
    var waitsForDigest = false
    job.file.written.bytes += Int64(buffer.count)
    job.meter.speed.add(Int64(buffer.count), at: clock.boot)
    if job.file.chunks == nil {
      job.file.written.offset = max(job.file.written.offset, buffer.end)
      waitsForDigest = hash(buffer, number, job)
    } else {
      hashChunks(endingIn: buffer, job)
    }
    if !waitsForDigest { giveRoom(number, job) }
  }

  private func followWrites(of job: ActiveJob) {
    // The last bytes of an answer may be of chunks that weren't asked for.
    if job.file.chunks == nil { journalIdentity(job) } else { chunked.finishChunksIfDone(job) }
    let now = clock.boot
    checkpointIfDue(job, now)
    // Between checkpoints, which are seconds apart, a fast line would fill what has to stay free.
    if !job.file.isPreallocated, job.machine.isTransferring { holdIfShort(job) }
    tellProgress(job, now)
    endings.continueStopping(job)
  }

  func holdIfShort(_ job: ActiveJob) {
    if !job.machine.isDecided, let shortage = room.shortage(of: job, starts: false) {
      endings.stop(job, then: .hold(.disk(shortage), after: nil))
    }
  }
}
