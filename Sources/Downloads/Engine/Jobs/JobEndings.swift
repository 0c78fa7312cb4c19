internal import AssetModel
internal import Basics
internal import Dispatch

/// How an activation ends: what arrived is made safe first, then the job goes where it belongs. `JobMachine` decides. Network
/// thread only.
final class JobEndings: EnginePart {
  unowned let engine: TransferEngine

  init(_ engine: TransferEngine) { self.engine = engine }

  /// Ends all transfers of a job, unless what was decided before comes first.
  func stop(_ job: ActiveJob, then next: NextStep) { execute(job.machine.handle(.decided(next)), job) }

  func execute(_ effects: [JobMachine.Effect], _ job: ActiveJob) {
    for effect in effects {
      switch effect {
      case .endTransfers(let keepsBytes): endTransfers(job, keepsBytes: keepsBytes && job.file.failure == nil)
      case .stopIfQuiet: continueStopping(job)
      case .checkpoint: bodies.checkpoint(job)
      case .conclude(let next): conclude(job, next)
      case .setClass(let transferClass): job.record.transferClass = transferClass
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
    let phase = job.machine.phase
    guard let next = job.machine.next, phase == .stopping || phase == .opening, job.file.isQuiet,
      !job.allowance.isExtending
    else { return }
    job.file.writers = [:]
    let needsCheckpoint = job.file.failure == nil && needsCheckpoint(job, next)
    execute(job.machine.handle(.quiet(needsCheckpoint: needsCheckpoint)), job)
  }

  func needsCheckpoint(_ job: ActiveJob, _ next: NextStep) -> Bool {
    job.file.staging != nil && job.record.partial != nil
      && job.file.needsCheckpoint(before: next, worth: BodyReceiver.checkpointBytes)
  }

  func conclude(_ job: ActiveJob, _ next: NextStep) {
    switch next {
    case .verify: publishing.verify(job)
    case .retry(let problem, let retryAfter): concludeAttempt(job, problem, retryAfter)
    case .hold(.disk(let shortage), _):
      job.record.noteError("\(shortage)")
      forgetWhatCannotBeContinued(job) { engine, job in
        engine.endings.commitAndRetire(job, .outOfSpace(shortage))
      }
    case .hold(let reason, let delay):
      job.record.noteError(reason.text)
      commitAndRetire(job, .held(reason, delay.map { .after($0) } ?? .never))
    case .pause:
      job.record.state = .paused
      commitAndRetire(job, .paused)
    case .yield:
      commitAndRetire(job, .queued(isTold: false))
    case .cancel:
      network.proxyHealth.forget(job.id)
      job.record.state = .cancelled
      discard(job) { engine, job in engine.endings.commitAndRetire(job, .cancelled) }
    case .fail(let failure): fail(job, failure)
    case .startAfresh(let reason):
      startAfresh(job, reason: reason, isAnother: true)
      reopen(job)
    case .askOtherwise(let reason):
      job.restarts += 1
      guard job.restarts <= Self.maxOtherwise else {
        return concludeAttempt(job, .protocolFault(reason), nil)
      }
      opening.begin(job)
    // What was received since the last commit has been charged to nobody yet, or what was given up would be checked again.
    case .close where job.record.specification.budget != nil || job.record.generation != job.start.generation:
      commitAndRetire(job, .left)
    case .close:
      engine.retire(job)
      commands.perform(job.machine.commands, on: job.id)
    }
  }

  static let maxOtherwise = 4

  /// Bytes that aren't durable would only take room from others, and a length that nothing was received of is a
  /// server's word of a moment ago: it is asked again.
  private func forgetWhatCannotBeContinued(
    _ job: ActiveJob, _ then: @escaping @Sendable (TransferEngine, ActiveJob) -> Void
  ) {
    guard job.record.state != .verified, job.record.partial != nil, job.durableBytes == 0, let file = job.file.staging
    else {
      return then(engine, job)
    }
    job.record.partial = nil
    afterFileWork(job, { file.discard() }, then)
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
    if isAnother { job.record.history.highWater = 0 }
    if hadBytes {
      if job.record.generation > 1 {
        let outdated = commands.stagingName(job.record.specification, job.record.generation - 1)
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
      ? StagingFile(destination: destination, name: commands.stagingName(specification, job.record.generation)) : nil
    job.file.empty(staging, specification.chunks)
    job.file.expect(ResumePolicy.knownDigest(job.record))
  }
}
