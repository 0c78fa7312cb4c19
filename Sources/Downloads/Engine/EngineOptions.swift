public import AssetModel

/// What an administrator sets.
public struct EngineOptions: Sendable {
  /// What libcurl is told, and which addresses and hosts may be asked.
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
  /// where the journal lies. When the journal is lost, they are found again only under the same name.
  public var stagingOwner = ""
  /// Directories, by their paths without links, whose trees belong to apps: nothing beneath one is reached by a link or over
  /// another mount. To all other directories the caller's path leads, links and all.
  public var containerRoots: [String] = []
  /// After a 404 the file is looked for twice more: a catalogue may be published before its files. Otherwise it fails at
  /// once, as after any other permanent answer.
  public var retestsPublication = true
  /// Mode of finished files, without the umask: it is set on the descriptor.
  public var fileMode: UInt32 = 0o644
  /// Whether a finished file may take the place of what has its name, asked just before it would; nil: nothing is
  /// ever replaced. The old file stays until the new one is complete and on the disk, and readers see one of the two.
  /// The name is `fileName`, also where that is one that `fileNames` says.
  public var mayReplace: (@Sendable (DownloadSpecification) -> Bool)?
  /// Which version of a file is at its place already, asked before its first byte is. A server that has no other one (304 of
  /// RFC 9110) leaves it as it is, and the download is finished. Not for files with a chunk list; nil: none is known.
  public var knownVersion: (@Sendable (DownloadSpecification) -> KnownVersion?)?
  /// Attempts in a row without progress after which a download fails; nil: as its class has it.
  public var attemptLimit: Int?
  var naming = Naming()
  var rates = Rates()
  var connections = ConnectionPlanner.Limits(foreground: 8, essential: 4)
  /// How long downloads of a class wait for a network before they fail; one that isn't named waits as long as it takes.
  public var connectivityTimeouts: [TransferClass: Duration] = [:]
  var challenges = Challenges()
  /// Asked before a download fails for what a login page might have caused: whether the network leads to one. As long as it
  /// does, everything waits. No answer within `challengeTimeout` means no; nil: the question isn't asked.
  public var isBehindPortal: (@Sendable () async -> Bool)?
  /// Seconds since 1970: a wall clock before this is wrong.
  public var earliestWallTime = ClockDoubt.release
  /// Where the delays' jitter comes from, for tests that repeat; nil: the system.
  public var seed: UInt64?

  /// Creates the default options.
  ///
  /// - Parameter transport: Which addresses and hosts may be asked.
  public init(transport: TransportOptions = TransportOptions()) { self.transport = transport }
}

/// What a transfer may use of the network.
extension EngineOptions {
  struct Rates: Sendable {
    var all: Int64?
    var classes: [TransferClass: Int64] = [:]
  }

  /// Bytes per second in all; nil: no limit.
  public var bytesPerSecond: Int64? {
    get { rates.all }
    set { rates.all = newValue }
  }

  /// Bytes per second for all downloads of a class; one that isn't named has no limit of its own.
  public var classBytesPerSecond: [TransferClass: Int64] {
    get { rates.classes }
    set { rates.classes = newValue }
  }

  /// Connections of one foreground download that has a chunk list.
  public var maxSegments: Int {
    get { connections.foreground }
    set { connections.foreground = newValue }
  }

  /// Connections of one essential download that has a chunk list. Others have one.
  public var maxEssentialSegments: Int {
    get { connections.essential }
    set { connections.essential = newValue }
  }
}

/// What finished files are called.
extension EngineOptions {
  struct Naming: Sendable {
    var tell: (@Sendable (JobID, String) -> Void)?
    var names: (@Sendable (JobRecord) -> [String])?
  }

  /// Told what a server calls a file that it begins to send (RFC 6266): hostile text. Before the file is published; the
  /// network waits for it.
  public var toldServerName: (@Sendable (JobID, String) -> Void)? {
    get { naming.tell }
    set { naming.tell = newValue }
  }

  /// Names that a finished file may get, best first: it gets the first that is free, or whose file `mayReplace` gives
  /// up. Asked before the journal calls the file verified, and again by whoever goes on after an interruption, which
  /// has to get the same names. nil: the name that its specification has.
  public var fileNames: (@Sendable (JobRecord) -> [String])? {
    get { naming.names }
    set { naming.names = newValue }
  }
}

/// Who answers for a download.
extension EngineOptions {
  struct Challenges: Sendable {
    var answer: (@Sendable (AuthenticationChallenge) async -> ChallengeAnswer)?
    var timeout: Duration = .seconds(10)
    var certificate: (@Sendable (String) -> ClientCertificate?)?
  }

  /// Answers an authentication challenge; nil: every challenge fails, and the failure names the scheme.
  public var answerChallenge: (@Sendable (AuthenticationChallenge) async -> ChallengeAnswer)? {
    get { challenges.answer }
    set { challenges.answer = newValue }
  }

  /// The client certificate for an origin (`https://host:port`) that asks for one in its handshake: many servers let who
  /// shows none in, and refuse the request. nil, or none for it: only one that demands one is answered, by `answerChallenge`.
  public var clientCertificate: (@Sendable (String) -> ClientCertificate?)? {
    get { challenges.certificate }
    set { challenges.certificate = newValue }
  }

  /// How long is waited for an answer; then there is none.
  public var challengeTimeout: Duration {
    get { challenges.timeout }
    set { challenges.timeout = newValue }
  }
}

/// What follows from them for a download.
extension EngineOptions {
  func retryPolicy(of transferClass: TransferClass) -> RetryPolicy {
    RetryPolicy(transferClass: transferClass, appIdleForWeek: false, attemptLimit: attemptLimit)
  }

  /// What is no name of a file isn't tried.
  func names(of record: JobRecord) -> [String] {
    let names = naming.names?(record).filter(Destination.isFileName) ?? []
    return names.isEmpty ? [record.specification.fileName] : names
  }

  func stagingName(_ specification: DownloadSpecification, _ generation: Int) -> String {
    Destination.stagingName(
      app: specification.app, identifier: specification.identifier, generation: generation, owner: stagingOwner)
  }

  /// Of those that may still lie there.
  func stagingNames(_ specification: DownloadSpecification, upTo generation: Int) -> [String] {
    (max(1, generation - 16)...generation).map { stagingName(specification, $0) }
  }
}
