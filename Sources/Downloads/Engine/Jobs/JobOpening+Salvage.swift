internal import AssetModel
internal import Dispatch
internal import LinuxSystem

/// What is left of a download whose journal was lost: the digests of its chunks say which bytes are good.
extension JobOpening {
  /// Goes on with what is found under the job's staging name, or with nothing.
  func salvage(_ job: ActiveJob) {
    guard let list = job.record.specification.chunks, let file = job.file.staging else { return opened(job, nil) }
    let (activation, mailbox) = (job.activation, mailbox)
    // A journal that is younger than the file may count its generations anew. One that knows of received bytes isn't, and
    // what it gave up before stays given up.
    let specification = job.record.specification
    let isNew = job.record.receivedBytes == 0
    let others = (1...Self.maxGenerations).filter { isNew && $0 != job.record.generation }.map {
      engine.options.stagingName(specification, $0)
    }
    let hasLostPages = job.record.partial?.bootIdentifier == Partial.lostPages
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) -> (found: ChunkMap.Found, identity: FileIdentity)? in
        if hasLostPages {
          file.discard()
          return nil
        }
        guard let found = try file.salvage(list, others: others) else { return nil }
        return (found, try file.identity())
      }
      mailbox.post(.job(activation, .salvaged(result)))
    }
  }

  func salvaged(
    _ job: ActiveJob, _ result: Result<(found: ChunkMap.Found, identity: FileIdentity)?, SystemCallError>
  ) {
    guard job.machine.isOpening, let list = job.record.specification.chunks else { return }
    switch result {
    case .success(let (found, identity)?): salvaged(job, list, found, identity)
    case .success(nil): opened(job, nil)
    case .failure(let error): endings.fileFailed(job, error)
    }
  }

  /// Generations that are looked for.
  private static let maxGenerations = 8

  private func salvaged(_ job: ActiveJob, _ list: ChunkList, _ found: ChunkMap.Found, _ identity: FileIdentity) {
    var entity = Entity(total: list.totalSize, finalURL: job.record.specification.url)
    if let known = job.record.partial?.entity, known.total == list.totalSize { entity = known }
    job.record.partial = Partial(
      stagingName: job.file.staging?.name ?? "", entity: entity, verifiedChunks: found.verified,
      bootIdentifier: clock.bootIdentifier,
      device: identity.device, inode: identity.inode)
    let bytes = ChunkMap(list, verified: found.verified).verifiedBytes
    events.send(.note(job.id, "\(bytes) bytes were found by their digests"))
    // Otherwise a cleanup would take it for an orphan.
    journal.commit([.job(job.record)]) { _ in }
    opened(job, StagingFile.Kept(certain: identity.size, found: found))
  }
}
