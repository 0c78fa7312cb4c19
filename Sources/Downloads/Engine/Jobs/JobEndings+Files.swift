internal import AssetModel
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// Files, volumes and journals that fail.
extension JobEndings {
  func fileFailed(_ job: ActiveJob, _ error: SystemCallError) {
    let obstacle = FileObstacle(error)
    let step = obstacle.step(error, shortage: { room.shortage(after: job) }, fileSizeLimit: Self.fileSizeLimit)
    if obstacle == .taken {
      opening.waitedForFile.insert(job.id)
      handle(.failed(step), job)
      return continueStopping(job)
    }
    job.file.failure = job.file.failure ?? error
    // Later writes may have gone through and left a hole: the next activation trusts checkpoints alone.
    job.distrust("")
    handle(.writeFailed(step), job)
    if obstacle == .volume { volumeFailed(job, error.code) }
    continueStopping(job)
  }

  private static var fileSizeLimit: UInt64? {
    var limits = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0, limits.rlim_cur != .max else {
      return nil
    }
    return UInt64(limits.rlim_cur)
  }

  /// The pages since the last checkpoint may be lost, and asking again would only hide it.
  func synchronisationFailed(_ job: ActiveJob, _ error: SystemCallError) {
    let file = job.file.staging
    let durable = job.record.partial?.durableOffset ?? 0
    job.distrust(Partial.lostPages)
    if job.file.chunks == nil, let cut = file?.cuttingOpened(to: durable) { job.file.lane.async { try? cut() } }
    fileFailed(job, error)
  }

  func journalFailed(_ job: ActiveJob, _ error: any Error) {
    job.file.failure = job.file.failure ?? SystemCallError("commit", code: EIO, subject: "the journal")
    handle(.failed(.hold(.journal(error), after: CommandExecutor.journalDelay)), job)
    continueStopping(job)
  }

  /// A read-only or dying volume: all its jobs stop, one event tells it, and it is looked at again later.
  private func volumeFailed(_ job: ActiveJob, _ code: Int32) {
    guard let device = job.file.destination?.device else { return }
    let place = SpaceLedger.Place(device: device, directory: job.record.specification.directory)
    if let report = room.space.failed(at: place, code: code, now: clock.boot) { events.send(.volume(report)) }
    for other in Array(engine.active.values) where other.id != job.id && other.file.destination?.device == device {
      if other.machine.canStop { stop(other, then: .hold(.volume(code), after: SpaceLedger.failureDelay)) }
    }
  }
}
