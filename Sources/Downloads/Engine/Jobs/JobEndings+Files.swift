internal import AssetModel
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// Files, volumes and journals that fail.
extension JobEndings {
  func fileFailed(_ job: ActiveJob, _ error: SystemCallError) {
    if error.code == EWOULDBLOCK, error.call == "flock" {
      // Somebody else's, and nothing of it was touched.
      stop(job, then: .hold(.held(error.subject), after: SpaceLedger.failureDelay))
      return continueStopping(job)
    }
    job.file.failure = job.file.failure ?? error
    // Later writes may have gone through and left a hole: whoever opens it again trusts checkpoints alone.
    job.distrust("")
    // The body may have ended before its last buffer was refused: what isn't there can't be checked, let alone published.
    _ = job.machine.handle(.writeFailed)
    switch error.code {
    case ENOSPC, EDQUOT:
      stop(job, then: .hold(.disk(room.shortage(after: job)), after: nil))
    case EIO, EROFS, ENODEV, ENXIO, ESTALE: volumeFailed(job, error.code)
    case EFBIG:
      stop(job, then: .fail(TransferFailure(.refused, errno: EFBIG, detail: Self.tooLarge(Self.fileSizeLimit))))
    case EMFILE, ENFILE, ENOMEM: stop(job, then: .hold(.volume(error.code), after: SpaceLedger.failureDelay))
    default:
      stop(job, then: .fail(TransferFailure(.volume, errno: error.code, detail: "\(error)")))
    }
    continueStopping(job)
  }

  /// `limit`: bytes that this process may write to one file (setrlimit(2)).
  static func tooLarge(_ limit: UInt64?) -> String {
    guard let limit else { return "the filesystem takes no file of that size" }
    return "this process may write no file beyond \(limit) bytes: its file size limit (ulimit -f) says so"
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
    stop(job, then: .hold(.journal(error), after: CommandExecutor.journalDelay))
    continueStopping(job)
  }

  /// A read-only or dying volume: all its jobs stop, one event tells it, and it is looked at again later.
  func volumeFailed(_ job: ActiveJob, _ code: Int32) {
    stop(job, then: .hold(.volume(code), after: SpaceLedger.failureDelay))
    guard let device = job.file.destination?.device else { return }
    let place = SpaceLedger.Place(device: device, directory: job.record.specification.directory)
    if let report = room.space.failed(at: place, code: code, now: clock.boot) { events.send(.volume(report)) }
    for other in Array(engine.active.values) where other.id != job.id && other.file.destination?.device == device {
      if other.machine.phase == .transferring || other.machine.phase == .opening {
        stop(other, then: .hold(.volume(code), after: SpaceLedger.failureDelay))
      }
    }
  }
}
