internal import AssetModel
internal import Dispatch
internal import Hashing
internal import LinuxSystem

/// Digests of the whole file and of its chunks.
extension BodyReceiver {
  /// Buffers that wait for their digest while their transfer goes on.
  private static let maxHashBacklog = 4

  /// Whether the transfer has to wait until this buffer is hashed. Read from the file later it would take more of the
  /// processor than hashing it does; only what a resumed transfer is ahead of its old bytes' digest is read so.
  func hash(_ buffer: TransferBuffer, _ number: UInt64, _ job: ActiveJob) -> Bool {
    guard let hasher = job.file.hashing.hasher else { return false }
    let isBehind = job.file.hashing.buffers >= Self.maxHashBacklog
    // More than all buffers hold: the digest is still at what was there before.
    if isBehind, buffer.offset - job.file.hashing.offset > Int64(BufferPool.budget) { return false }
    job.file.hashing.buffers += 1
    let (activation, mailbox) = (job.activation, mailbox)
    job.file.hashingLane.async {
      // A file that can't be read is noticed by the check at the end.
      try? hasher.take(buffer)
      mailbox.post(.transfer(activation, .hashed(buffer, number, by: hasher, waits: isBehind)))
    }
    return isBehind
  }

  /// `waits`: the buffer's transfer waits for it.
  func hashed(_ job: ActiveJob, _ buffer: TransferBuffer, _ number: UInt64, by hasher: FileHasher, waits: Bool) {
    job.file.hashing.buffers -= 1
    if job.file.hashing.hasher === hasher { job.file.hashing.offset = buffer.end }
    guard waits else { return }
    giveRoom(number, job)
    endings.continueStopping(job)
  }

  func hashChunks(endingIn buffer: TransferBuffer, _ job: ActiveJob) {
    guard let list = job.file.chunks?.list, let file = job.file.staging else { return }
    let (activation, mailbox) = (job.activation, mailbox)
    for index in Int(buffer.offset / list.chunkSize)...Int((buffer.end - 1) / list.chunkSize) {
      let range = list.range(of: index)
      // A segment starts at a chunk's start and its buffers come in order: who reaches the end has all of it.
      guard range.upperBound <= buffer.end, job.file.chunks?.states[index] == .claimed else { continue }
      job.file.chunks?.written(index)
      job.file.hashing.chunks += 1
      lanes.hashes.async {
        var hash = RunningHash(.sha256)
        let result = Result { () throws(SystemCallError) in
          try file.read(range) { hash.update($0) }
          return list.digest(of: index).elementsEqual(hash.digest)
        }
        mailbox.post(.transfer(activation, .chunkHashed(index, result)))
      }
    }
  }

  func chunkHashed(_ index: Int, _ result: Result<Bool, SystemCallError>, _ job: ActiveJob) {
    switch result {
    case .success(let isRight): chunkHashed(index, isRight: isRight, job)
    case .failure(let error): chunkUnread(index, error, job)
    }
  }

  /// That it can't be read is the disk's fault, and no server's.
  private func chunkUnread(_ index: Int, _ error: SystemCallError, _ job: ActiveJob) {
    job.file.hashing.chunks -= 1
    _ = job.file.chunks?.verified(index, isRight: false, isBlamed: true)
    endings.fileFailed(job, error)
  }

  private func chunkHashed(_ index: Int, isRight: Bool, _ job: ActiveJob) {
    job.file.hashing.chunks -= 1
    let isBlamed = !isRight && !job.machine.isDecided && chunked.bansSender(ofChunk: index, job)
    let isWorthwhile = job.file.chunks?.verified(index, isRight: isRight, isBlamed: isBlamed) ?? true
    if !isRight {
      job.file.evidence.hadBadChunk = job.file.evidence.hadBadChunk || !isBlamed
      events.send(.note(job.id, "chunk \(index) had the wrong digest and is fetched again"))
    }
    if !isWorthwhile, !job.machine.isDecided {
      return endings.stop(
        job,
        then: .fail(
          TransferFailure(.digestMismatch, detail: "chunk \(index) has the wrong digest, also when it is fetched again")
        ))
    }
    chunked.finishChunksIfDone(job)
    endings.continueStopping(job)
  }
}
