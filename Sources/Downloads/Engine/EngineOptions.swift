public import AssetModel

/// What an administrator sets.
public struct EngineOptions: Sendable {
  public var transport: TransportOptions
  /// At its start the engine goes on with every open job of the journal; otherwise only with those that `resume` names.
  public var takesUpOpenJobs = true
  /// What the machine is like until `setConditions` says otherwise.
  public var conditions = MachineConditions()
  /// What stays free on every volume.
  public var freeSpace = FreeSpacePolicy()
  /// Deletes what can be deleted when a volume is short, and says whether something was: downloads that wait for room are
  /// looked at again then, and otherwise after a while.
  public var makeRoom: (@Sendable (SpaceShortage) async -> Bool)?
  /// Tells this journal's partial files from those of others that download into the same directory, for example the path
  /// where the journal lies. Whoever loses the journal finds them again only under the same name.
  public var stagingOwner = ""
  /// Directories, by their paths without links, whose trees belong to apps: nothing beneath one is reached by a link or over
  /// another mount. To all other directories the caller's path leads, links and all.
  public var containerRoots: [String] = []
  /// After a 404 the file is looked for twice more: a catalogue may be published before its files. Otherwise it fails at
  /// once, as after any other permanent answer.
  public var retestsPublication = true
  /// Mode of finished files, before the umask of nobody: it is set on the descriptor.
  public var fileMode: UInt32 = 0o644
  /// Whether a finished file may take the place of what has its name, asked just before it would; nil: nothing is ever
  /// replaced. The old file stays until the new one is complete and on the disk, and readers see one of the two.
  public var mayReplace: (@Sendable (DownloadSpecification) -> Bool)?
  /// Which version of a file is at its place already, asked before its first byte is. A server that has no other one (304 of
  /// RFC 9110) leaves it as it is, and the download is finished. Not for files with a chunk list; nil: none is known.
  public var knownVersion: (@Sendable (DownloadSpecification) -> KnownVersion?)?
  /// Attempts in a row without progress after which a download fails; nil: as its class has it.
  public var attemptLimit: Int?
  /// Tells what servers call the files that they send (`DownloadEvent.disposition`).
  public var tellsDisposition = false
  /// Bytes per second in all, and per class; nil: no limit.
  public var bytesPerSecond: Int64?
  public var classBytesPerSecond: [TransferClass: Int64] = [:]
  /// Connections of one job that has a chunk list.
  public var maxSegments = 8
  public var maxEssentialSegments = 4
  /// How long downloads of a class wait for a network before they fail; one that isn't named waits as long as it takes.
  public var connectivityPatience: [TransferClass: Duration] = [:]
  /// Answers an authentication challenge; nil: every challenge fails, and the failure names the scheme.
  public var answerChallenge: (@Sendable (AuthenticationChallenge) async -> ChallengeAnswer)?
  public var challengeTimeout: Duration = .seconds(10)
  /// Asked before a download fails for what a login page might have caused: whether the network leads to one. As long as it
  /// does, everything waits. No answer within `challengeTimeout` means no; nil: nobody is asked.
  public var isBehindPortal: (@Sendable () async -> Bool)?
  /// Seconds since 1970: a wall clock before this is wrong, whatever keeps it.
  public var earliestWallTime = ClockDoubt.release
  /// Where the delays' jitter comes from, for tests that repeat; nil: the system.
  public var seed: UInt64?

  public init(transport: TransportOptions = TransportOptions()) { self.transport = transport }
}

/// What the machine is like at the moment; the service tells it at every change.
public struct MachineConditions: Sendable, Equatable {
  public var isOnline = true
  /// The network interface in use, or the one that should be, for those who ask why nothing moves.
  public var interface: String?
  /// Every byte costs.
  public var isMetered = false
  public var isSavingPower = false
  /// The user's setting: essential downloads may use a metered line.
  public var essentialMayBeMetered = true
  /// The network leads to a login page and nowhere else.
  public var isBehindPortal = false
  /// nil: there is none, or it is being charged.
  public var battery: Battery?
  /// What the service is being changed by at the moment, for example a migration; nothing is transferred meanwhile.
  public var upgradeStep: String?
  /// Settings: how long an essential download waits for a network, and how long one goes on trying without a byte of
  /// progress. nil: as the options say, and 14 days.
  public var essentialPatience: Duration?
  public var patienceWithoutProgress: Duration?
  /// Boot time at which background transfers may run again; nil: now.
  public var windowOpensAt: Duration?

  public struct Battery: Sendable, Equatable {
    /// Percent, and those below which background transfers wait.
    public var level: Int
    public var threshold: Int

    public init(level: Int, threshold: Int) {
      self.level = level
      self.threshold = threshold
    }
  }

  public init() {}

  /// The gate that holds a class, or nil.
  func gate(for transferClass: TransferClass, now: Duration) -> Explanation.Code? {
    if upgradeStep != nil { return .upgrading }
    if !isOnline { return .offline }
    if isBehindPortal { return .captivePortal }
    if isMetered, transferClass.isBackground || transferClass == .essential && !essentialMayBeMetered {
      return .metered
    }
    if isSavingPower, transferClass.isBackground { return .powerSaver }
    if let battery, battery.level < battery.threshold, transferClass.isBackground { return .battery }
    if let windowOpensAt, windowOpensAt > now, transferClass.isBackground { return .window }
    return nil
  }

  /// What `explain` tells beside the code.
  func data(of gate: Explanation.Code, remaining: Int64?) -> [String: String] {
    switch gate {
    case .offline, .captivePortal: interface.map { ["interface": Printable.text($0, limit: 60)] } ?? [:]
    case .metered:
      ["essentialMayBeMetered": "\(essentialMayBeMetered)"].merging(remaining.map { ["bytes": "\($0)"] } ?? [:]) { $1 }
    case .battery: battery.map { ["level": "\($0.level)", "threshold": "\($0.threshold)"] } ?? [:]
    case .upgrading: upgradeStep.map { ["step": Printable.text($0, limit: 60)] } ?? [:]
    default: [:]
    }
  }
}
