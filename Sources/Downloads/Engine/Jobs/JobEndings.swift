internal import AssetModel
internal import Basics
internal import Dispatch

/// How an activation ends: what arrived is made safe first, then the job goes where it belongs. `JobMachine` decides. Network
/// thread only.
final class JobEndings: EnginePart {
  unowned let engine: TransferEngine

  init(_ engine: TransferEngine) { self.engine = engine }

  // What it uses of the others.
  var opening: JobOpening { engine.parts.opening }
  var publishing: JobPublishing { engine.parts.publishing }
  var connections: Connections { engine.parts.connections }
  var chunked: ChunkedTransfers { engine.parts.chunked }
  var bodies: BodyReceiver { engine.parts.bodies }
  var commands: CommandExecutor { engine.parts.commands }
  var network: NetworkWatch { engine.parts.network }
  var room: RoomKeeper { engine.parts.room }

  /// Ends all transfers of a job, unless what was decided before comes first.
  func stop(_ job: ActiveJob, then next: NextStep) { handle(.decided(next), job) }

  func handle(_ event: JobMachine.Event, _ job: ActiveJob) { execute(job.machine.handle(event), job) }

  func execute(_ effects: [JobMachine.Effect], _ job: ActiveJob) {
    for effect in effects {
      switch effect {
      case .endTransfers(let keepsBytes): endTransfers(job, keepsBytes: keepsBytes && job.file.failure == nil)
      case .stopIfQuiet: continueStopping(job)
      case .checkpoint: bodies.checkpoint(job)
      case .conclude(let next): conclude(job, next)
      case .setClass(let transferClass): job.record.transferClass = transferClass
      case .removeFiles(let removal): removeFiles(of: job, removal)
      case .commit(let attempt): commit(job, attempt)
      case .leaveSlot: engine.retire(job)
      case .enter(let disposition): engine.enter(disposition, job.record)
      case .keepUpdate(let disposition, let failure):
        commands.keep(PendingUpdate(record: job.record, disposition: disposition), failure)
      case .perform(let queue): commands.perform(queue, on: job.id)
      }
    }
  }

  func endTransfers(_ job: ActiveJob, keepsBytes: Bool) {
    for segment in job.segments {
      if keepsBytes {
        segment.writer?.flush()
      } else if let writer = segment.writer {
        bodies.charge(job, writer.dropCurrent())
      }
      chunked.releaseChunks(segment, of: job)
      connections.drop(segment)
    }
    job.segments = []
  }

  /// Goes on once no buffer, digest or commit of the job is on its way.
  func continueStopping(_ job: ActiveJob) {
    guard job.machine.isStopping, let next = job.machine.next, job.file.isQuiet, !job.allowance.isExtending else {
      return
    }
    job.file.writers = [:]
    let needsCheckpoint = job.file.failure == nil && needsCheckpoint(job, next)
    handle(.quiet(needsCheckpoint: needsCheckpoint), job)
  }

  func needsCheckpoint(_ job: ActiveJob, _ next: NextStep) -> Bool {
    job.file.staging != nil && job.record.partial != nil
      && job.file.needsCheckpoint(before: next, worth: BodyReceiver.checkpointBytes)
  }

  private func conclude(_ job: ActiveJob, _ step: NextStep) {
    if case .askOtherwise = step { job.restarts += 1 }
    let facts = Conclusion.Facts(
      restarts: job.restarts, durableBytes: job.durableBytes, firstGeneration: job.start.generation,
      hasFile: job.file.staging != nil)
    switch Conclusion(of: step, &job.record, facts) {
    case .verify: publishing.verify(job)
    case .failedAttempt(let problem, let retryAfter): concludeAttempt(job, problem, retryAfter)
    case .failed(let failure): fail(job, failure)
    case .startAfresh(let reason):
      startAfresh(job, reason: reason, isAnother: true)
      reopen(job)
    case .ask:
      let effects = job.machine.handle(.reopened)
      opening.begin(job)
      execute(effects, job)
    case .retire(let retirement):
      if step == .yield, let check = job.file.evidence.check {
        return publishing.verifyPart(job, check, then: retirement)
      }
      handle(.ended(retirement), job)
    case .leave: handle(.over, job)
    }
  }

  /// Asks for the first byte, with nothing in the hand.
  func reopen(_ job: ActiveJob) {
    let effects = job.machine.handle(.reopened)
    if engine.isClosing { stop(job, then: .close) } else { opening.open(job) }
    execute(effects, job)
  }

  /// A new generation with a new, empty file. The old one lies there until the new one is certain; those before it go.
  /// `isAnother`: of another version, for which nothing counts that was fetched of the old one.
  func startAfresh(_ job: ActiveJob, reason: String, isAnother: Bool = false) {
    guard let destination = job.file.destination else { return }
    let hadBytes = job.record.partial != nil || job.file.written.offset > 0
    let before = (hadBytes ? job.file.staging?.name : nil) ?? job.file.identity.outdated
    if isAnother { job.record.history.highWater = 0 }
    if hadBytes {
      if job.record.generation > 1 {
        let outdated = engine.options.stagingName(job.record.specification, job.record.generation - 1)
        job.file.lane.async { destination.removeStaging(outdated) }
      }
      job.record.generation += 1
      events.send(.restarted(job.id, reason: reason))
    }
    let specification = job.record.specification
    job.record.partial = nil
    job.record.state = .open
    let isNew = hadBytes || job.file.staging == nil
    let staging =
      isNew
      ? StagingFile(destination: destination, name: engine.options.stagingName(specification, job.record.generation))
      : nil
    job.file.empty(staging, specification.chunks)
    job.file.identity.outdated = before
    job.file.expect(ResumePolicy.knownDigest(job.record))
  }
}
