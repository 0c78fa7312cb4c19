internal import AssetModel
internal import Basics
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// A file that is all there: checked, then published under its name, or taken back. Network thread only.
final class JobPublishing: EnginePart {
  unowned let engine: TransferEngine

  init(_ engine: TransferEngine) { self.engine = engine }

  // What it uses of the others.
  var endings: JobEndings { engine.parts.endings }

  func publish(_ job: ActiveJob, isReplay: Bool) {
    guard let file = job.file.staging else { return }
    endings.handle(.publishing, job)
    job.record.wait = nil
    let (activation, mailbox) = (job.activation, mailbox)
    let content = job.file.content
    job.file.content = nil
    if mayLeaveSlot(job, content) { engine.releaseSlot(of: job) }
    publisher.publish(
      Publisher.Item(job: job.record, file: file, content: content, isReplay: isReplay) {
        mailbox.post(.job(activation, .published($0)))
      })
  }

  /// Whether others may transfer while it waits for the disk: many small files share their synchronisations. What it keeps
  /// meanwhile is memory, or a descriptor; a large one would fill the page cache with what isn't written yet.
  private func mayLeaveSlot(_ job: ActiveJob, _ content: TransferBuffer?) -> Bool {
    if content != nil { return engine.active.count < Self.maxWaitingInMemory && !pool.isCrowded }
    return job.file.written.offset <= JobFile.worthAnIdentity && engine.active.count < maxWaitingOpen
  }

  private static let maxWaitingInMemory = 256
  /// A sixteenth of the descriptors that the process may have.
  private let maxWaitingOpen = min(128, OpenFiles.limit / 16)

  func published(_ job: ActiveJob, _ result: Result<JobRecord, Publisher.Failure>) {
    switch result {
    case .success(let record):
      endings.handle(.over, job)
      let path = "\(record.specification.directory)/\(record.specification.fileName)"
      let digest = record.specification.chunks == nil ? ResumePolicy.knownDigest(record) : record.specification.digest
      events.send(.finished(record.id, DownloadedFile(path: path, size: record.finalSize ?? 0, verifiedDigest: digest)))
    case .failure(.occupied(let name)):
      failForWantOfPlace(job, Self.occupied(name, in: job.record.specification.directory))
    case .failure(.displaced(let size)):
      let specification = job.record.specification
      job.record.finalSize = size
      let detail = DestinationProblem.displaced(specification.directory, specification.fileName)
      endings.fail(job, TransferFailure(.refused, detail: detail))
    case .failure(.lost):
      endings.startAfresh(job, reason: "the verified file is gone")
      endings.reopen(job)
    case .failure(.unsynchronised(let error)):
      endings.synchronisationFailed(job, error)
    case .failure(.unnamed(let record, let error)):
      if FileObstacle(error).isPassing {
        keepVerified(job, record)
        endings.fileFailed(job, error)
      } else {
        failForWantOfPlace(job, Self.unnamed(record, error))
      }
    case .failure(.journal(let error, let record)):
      if let record { keepVerified(job, record) }
      endings.journalFailed(job, error)
    }
  }

  /// Something else has the name. What can be done follows in `keeping` or `lacking`, by whether the file's bytes stay.
  static func occupied(_ name: String, in directory: String) -> TransferFailure {
    TransferFailure(
      .refused, errno: EEXIST,
      detail: "\(Printable.text(name)) is there already in \(Printable.text(directory)) and isn't replaced")
  }

  private static func unnamed(_ record: JobRecord, _ error: SystemCallError) -> TransferFailure {
    let (name, directory) = (record.specification.fileName, record.specification.directory)
    return TransferFailure(
      .volume, errno: error.code,
      detail:
        "\(Printable.text(name)) is complete, and can't get its place in \(Printable.text(directory)): \(SystemCallError.message(error.code))"
    )
  }

  /// The journal has it so already: the next activation goes on with its name, and its bytes aren't touched any more.
  private func keepVerified(_ job: ActiveJob, _ record: JobRecord) {
    job.record.state = .verified
    job.record.publishedInode = record.publishedInode
    job.record.finalSize = record.finalSize
  }

  /// All bytes are there and right: they stay for the next request.
  private func failForWantOfPlace(_ job: ActiveJob, _ failure: TransferFailure) {
    // Published a second time, it is known already as it was then.
    if job.record.state == .verified, job.record.partial != nil {
      return endings.failAndKeep(job, Self.keeping(failure, job.record.finalSize ?? job.durableBytes))
    }
    let size = job.file.chunks?.list.totalSize ?? job.file.written.offset
    guard size > JobFile.small, job.record.partial != nil, let file = job.file.staging else {
      return endings.fail(job, Self.lacking(failure))
    }
    let hasChunks = job.file.chunks != nil
    let (activation, mailbox) = (job.activation, mailbox)
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) -> (Partial.Checkpoint?, FileIdentity) in
        (hasChunks ? nil : try file.checkpoint(at: size), try file.identity())
      }
      mailbox.post(.job(activation, .keptForWantOfPlace(failure, size: size, result)))
    }
  }

  func keptForWantOfPlace(
    _ job: ActiveJob, _ failure: TransferFailure, size: Int64,
    _ result: Result<(Partial.Checkpoint?, FileIdentity), SystemCallError>
  ) {
    guard case .success(let (checkpoint, identity)) = result else {
      return endings.fail(job, Self.lacking(failure))
    }
    job.setIdentity(identity, boot: clock.bootIdentifier)
    job.record.partial?.entity.total = size
    if let checkpoint { job.record.partial?.checkpoints = [checkpoint] }
    endings.failAndKeep(job, Self.keeping(failure, size))
  }

  private static func keeping(_ failure: TransferFailure, _ size: Int64) -> TransferFailure {
    guard failure.isForWantOfPlace else { return failure.keeping(size) }
    var failure = failure
    failure.detail += "; what was received is kept: move the other file away, and ask for this one again"
    return failure
  }

  /// Nothing of the file stays: it is a small one, or nothing of it was received.
  static func lacking(_ failure: TransferFailure) -> TransferFailure {
    guard failure.isForWantOfPlace else { return failure }
    var failure = failure
    failure.detail += "; move the other file away, and ask for this one again"
    return failure
  }
}
