/// The file locks that a run may hold, which no limit of the kernel counts (fcntl(2), "Advisory record locking"). A pure value.
///
/// Whether a call takes a lock or gives one back lies in memory that the plugin may change meanwhile, and closing a file gives
/// back too. So each call counts as taking as many as one can, and when there seem to be too many, they are counted.
struct FileLockLedger: Equatable {
  /// A lock is some 200 bytes of the kernel's.
  static let maxHeld = 8192
  /// Locks of open file descriptions belong to no process, so those of a run can't be counted: none is given back.
  static let maxOfOpenFiles = 8192
  /// One of another type amid a lock leaves three.
  static let maxTakenByOne = 2
  /// A plugin that stays at the limit has its host count for no more than one part in so many of the time.
  private static let restPerCount = 10

  private(set) var held = 0
  private(set) var ofOpenFiles = 0
  private var notBefore = Duration.zero

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

  func hasRoom(for kind: Kind) -> Bool {
    switch kind {
    case .process: held + Self.maxTakenByOne <= Self.maxHeld
    case .openFile: ofOpenFiles + Self.maxTakenByOne <= Self.maxOfOpenFiles
    }
  }

  /// Whether counting may find room; never twice at one moment.
  func isWorthACount(for kind: Kind, at now: Duration) -> Bool { kind == .process && now > notBefore }

  mutating func add(_ kind: Kind) {
    switch kind {
    case .process: held += Self.maxTakenByOne
    case .openFile: ofOpenFiles += Self.maxTakenByOne
    }
  }

  /// `locks`: of the process, as the kernel lists them; nil where it can't be told. `threads`: each may be on its way into a call
  /// that was granted before.
  mutating func count(_ locks: Int?, threads: Int, at now: Duration, cost: Duration) {
    notBefore = now + cost * Self.restPerCount
    if let locks { held = min(held, locks + threads * Self.maxTakenByOne) }
  }
}
