internal import AssetModel
internal import Glibc
internal import LinuxSystem

/// What a failed operation on a job's file means for the job.
enum FileObstacle: Equatable, CaseIterable {
  /// Another process writes to the file (flock(2)), and nothing of it was touched.
  case taken
  /// The volume, or the user's share of it, is full.
  case full
  /// The volume is read-only, gone or dying: nothing can be written there.
  case volume
  /// The process may write no file of that size.
  case tooLarge
  /// There is no descriptor or memory for it now.
  case exhausted
  /// Nothing that would be otherwise another time.
  case lasting

  init(_ error: SystemCallError) {
    self =
      switch error.code {
      case EWOULDBLOCK where error.call == "flock": .taken
      case ENOSPC, EDQUOT: .full
      case EIO, EROFS, ENODEV, ENXIO, ESTALE: .volume
      case EFBIG: .tooLarge
      case EMFILE, ENFILE, ENOMEM: .exhausted
      default: .lasting
      }
  }

  /// Whether the same operation may succeed later.
  var isPassing: Bool {
    switch self {
    case .taken, .full, .volume, .exhausted: true
    case .tooLarge, .lasting: false
    }
  }

  /// What follows in the job. `shortage`: what the volume lacks; asked for only where it is full. `fileSizeLimit`: bytes that
  /// this process may write to one file (setrlimit(2)).
  func step(_ error: SystemCallError, shortage: () -> SpaceShortage, fileSizeLimit: UInt64?) -> NextStep {
    switch self {
    case .taken: .hold(.held(FileLock.holder(error)), after: SpaceLedger.failureDelay)
    case .full: .hold(.disk(shortage()), after: nil)
    case .volume, .exhausted: .hold(.volume(error.code), after: SpaceLedger.failureDelay)
    case .tooLarge: .fail(TransferFailure(.refused, errno: EFBIG, detail: Self.tooLarge(fileSizeLimit)))
    case .lasting: .fail(TransferFailure(.volume, errno: error.code, detail: "\(error)"))
    }
  }

  /// `limit`: bytes that this process may write to one file (setrlimit(2)).
  static func tooLarge(_ limit: UInt64?) -> String {
    guard let limit else { return "the filesystem takes no file of that size" }
    return "this process may write no file beyond \(limit) bytes: its file size limit (ulimit -f) says so"
  }
}
