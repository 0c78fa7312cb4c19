/// The file locks that a run may hold (fcntl(2), "Advisory record locking"). A pure value.
struct FileLockLedger: Equatable {
  /// A lock is some 200 bytes of the kernel's.
  static let maxHeld = 8192
  /// Locks of open file descriptions belong to no process, so those of a run can't be counted: none is given back.
  static let maxOfOpenFiles = 8192
  /// One of another type amid a lock leaves three.
  static let maxTakenByOne = 2

  var ofProcesses = EstimatedObjects(max: maxHeld, maxTakenByOne: maxTakenByOne)
  private(set) var ofOpenFiles = 0

  enum Kind: Equatable {
    /// Of the process: F_SETLK, F_SETLKW.
    case process
    /// Of an open file description: F_OFD_SETLK, F_OFD_SETLKW.
    case openFile

    init?(command: UInt64) {
      switch command & 0xffff_ffff {
      case 6, 7: self = .process
      case 37, 38: self = .openFile
      default: return nil
      }
    }
  }

  func verdict(on kind: Kind, at now: Duration) -> EstimatedObjects.Verdict {
    switch kind {
    case .process: ofProcesses.verdict(at: now)
    case .openFile: ofOpenFiles + Self.maxTakenByOne <= Self.maxOfOpenFiles ? .room : .full
    }
  }

  mutating func add(_ kind: Kind) {
    switch kind {
    case .process: ofProcesses.add()
    case .openFile: ofOpenFiles += Self.maxTakenByOne
    }
  }
}
