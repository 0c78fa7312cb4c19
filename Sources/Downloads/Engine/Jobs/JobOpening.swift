internal import AssetModel
internal import Basics
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// From a slot to a request: the partial is looked at, there has to be room, then the server is asked for the rest. Network
/// thread only.
final class JobOpening: EnginePart {
  unowned let engine: TransferEngine
  var destinations: [DestinationKey: WeakDestination] = [:]
  /// Another process wrote their files when they wanted to: what it finished may have their names by now.
  var waitedForFile: Set<JobID> = []

  init(_ engine: TransferEngine) { self.engine = engine }

  // What it uses of the others.
  var endings: JobEndings { engine.parts.endings }
  var publishing: JobPublishing { engine.parts.publishing }
  var connections: Connections { engine.parts.connections }
  var chunked: ChunkedTransfers { engine.parts.chunked }
  var network: NetworkWatch { engine.parts.network }
  var room: RoomKeeper { engine.parts.room }

  func open(_ job: ActiveJob) {
    let specification = job.record.specification
    guard Destination.isFileName(specification.fileName), specification.directory.isAbsolutePath,
      !specification.directory.utf8.contains(0)
    else {
      let name = "\(specification.directory)/\(specification.fileName)"
      return endings.stop(
        job, then: .fail(TransferFailure(.notAllowed, detail: "\(Printable.text(name)) is no place for a file")))
    }
    let destination: Destination
    do throws(SystemCallError) {
      destination = try self.destination(specification)
    } catch {
      switch error.code {
      case EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, EXDEV:
        let detail = DestinationProblem.text(error, specification.directory)
        return endings.stop(job, then: .fail(TransferFailure(.volume, errno: error.code, detail: detail)))
      default: return endings.fileFailed(job, error)
      }
    }
    job.file.destination = destination
    let name =
      job.record.partial?.stagingName
      ?? engine.options.stagingName(specification, job.record.generation)
    let file = StagingFile(destination: destination, name: name)
    job.file.staging?.end()
    job.file.staging = file
    if job.record.state == .verified { return publishing.publish(job, isReplay: true) }
    job.allowance = Allowance(left: specification.budget == nil ? nil : job.record.reservedBytes)
    let chunks = specification.chunks
    let compared = ResumePolicy.tailLength(of: job.record)
    // Bytes that came before there was a chunk list are checked by it.
    guard let partial = job.record.partial, chunks == nil || !partial.verifiedChunks.isEmpty else {
      return salvage(job)
    }
    let (activation, boot, mailbox) = (job.activation, clock.bootIdentifier, mailbox)
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) in
        try file.reopen(partial, boot: boot, chunks: chunks, comparing: compared)
      }
      mailbox.post(.job(activation, .reopened(result)))
    }
  }

  func reopened(_ job: ActiveJob, _ result: Result<StagingFile.Kept?, SystemCallError>) {
    guard job.machine.isOpening else { return }
    switch result {
    case .success(nil): salvage(job)
    case .success(let kept?): opened(job, kept)
    case .failure(let error): endings.fileFailed(job, error)
    }
  }

  func destination(_ specification: DownloadSpecification) throws(SystemCallError) -> Destination {
    let key = DestinationKey(app: specification.app, directory: specification.directory)
    if let destination = destinations[key]?.destination, destination.isAtItsPath { return destination }
    if destinations.count >= 64 { destinations = destinations.filter { $0.value.destination != nil } }
    let destination = try Destination(
      specification.directory, app: specification.app, files: files, beneath: engine.options.containerRoots)
    destinations[key] = WeakDestination(destination: destination)
    return destination
  }

  /// `kept`: what there is of the partial that the journal knows; nil: there is no file.
  func opened(_ job: ActiveJob, _ kept: StagingFile.Kept?) {
    let specification = job.record.specification
    if let certain = kept?.certain, job.record.partial != nil {
      if specification.chunks == nil {
        job.record.partial?.checkpoints.removeAll { $0.offset > certain }
        job.file.written.offset = certain
        job.file.written.tail = kept?.tail ?? []
        job.file.identity.isJournalled = true
      }
    } else if job.record.partial != nil {
      // The journal knows a file that isn't there: nothing is left of it.
      job.record.partial = nil
      job.file.staging = job.file.destination.map {
        StagingFile(destination: $0, name: engine.options.stagingName(specification, job.record.generation))
      }
    }
    if let chunks = specification.chunks {
      job.file.chunks = ChunkMap(
        chunks, verified: job.record.partial?.verifiedChunks ?? [], found: kept?.found ?? ChunkMap.Found())
      job.file.identity.isJournalled = true
      chunked.segmented[job.id] = job
    }
    job.file.written.checkpointed = job.durableBytes
    job.file.expect(ResumePolicy.knownDigest(job.record))
    admit(job)
  }

  /// Room and allowance first, then the network.
  func admit(_ job: ActiveJob) {
    if job.machine.isDecided { return endings.continueStopping(job) }
    let need = job.total.map { max(0, $0 - job.arrivedBytes) }
    if need != 0, let shortage = room.shortageOfAll(of: job, starts: true) {
      return endings.stop(job, then: .hold(.disk(shortage), after: nil))
    }
    room.space.admit(job.id, to: job.total ?? 0)
    // What is compared with what is there comes, too.
    if need != 0, !room.isAllowed(need.map { $0 + Int64(job.file.written.tail.count) }, job) { return }
    begin(job)
  }

  func begin(_ job: ActiveJob) {
    if engine.isClosing { return endings.stop(job, then: .close) }
    let specification = job.record.specification
    // A gate may have closed while the partial was looked at.
    if network.conditions.gate(for: job.record.transferClass, now: clock.boot) != nil {
      return endings.stop(job, then: .yield)
    }
    if waitedForFile.remove(job.id) != nil, let failure = occupied(job) {
      return endings.stop(job, then: .fail(failure))
    }
    events.send(.started(job.id))
    endings.handle(.began, job)
    engine.scheduler.transfers(job.id)
    if let chunks = job.file.chunks {
      if chunks.isComplete { return endings.stop(job, then: .verify) }
      chunked.addSegment(job)
      return
    }
    // At the known end there is nothing to ask: what is there is checked here.
    if let total = specification.exactSize ?? job.record.partial?.entity.total, job.file.written.offset == total,
      total > 0
    {
      return endings.stop(job, then: .verify)
    }
    let url: ParsedURL
    do throws(RefusedURL) { url = try engine.options.transport.validatedURL(specification.url, specification) } catch {
      return endings.stop(job, then: .fail(TransferFailure(.notAllowed, cause: error.cause, detail: error.text)))
    }
    let ask = connections.firstAsk(job, url)
    let segment = Segment(
      job: job.id, transfer: TransferID(number: engine.number()), ask: ask, url: url, start: job.file.written.offset,
      stall: StallWindow(isForeground: job.record.transferClass == .foreground, now: clock.boot))
    job.segments = [segment]
    connections.request(job, segment)
  }

  /// Why a file of which nothing is there needn't be fetched: it couldn't get its name. nil: it could, as far as is known.
  private func occupied(_ job: ActiveJob) -> TransferFailure? {
    let options = engine.options
    // The name may be one that only the server's answer tells.
    guard job.record.partial == nil, options.toldServerName == nil, let destination = job.file.destination else {
      return nil
    }
    let specification = job.record.specification
    let names = options.names(of: job.record)
    let isTaken = names.allSatisfy { name in
      let named = specification.named(name)
      return destination.identity(named: name) != nil && options.mayReplace?(named) != true
        && options.knownVersion?(named) == nil
    }
    guard isTaken, let last = names.last else { return nil }
    return JobPublishing.lacking(JobPublishing.occupied(last, in: specification.directory))
  }
}

struct DestinationKey: Hashable {
  var app: String
  var directory: String
}

/// Kept open as long as a job goes there, and not longer.
struct WeakDestination {
  weak var destination: Destination?
}
