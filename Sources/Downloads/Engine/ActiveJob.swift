internal import AssetModel
internal import Dispatch
internal import LinuxSystem

/// A job that holds a slot. Network thread only; its lanes do the slow work and report by its run number.
final class ActiveJob {
  enum Phase: Equatable {
    /// Its partial is being looked at.
    case opening
    case transferring
    /// Its transfers are over; buffers and a last checkpoint are on their way.
    case settling
    case verifying
    case publishing
    /// How it ended is on its way to the journal.
    case retiring

    /// Nothing can be asked of it before its slot is free.
    var isEnding: Bool { self == .publishing || self == .retiring }
  }

  /// What follows when everything received is safe.
  enum Next: Sendable {
    case verify
    case retry(TransferProblem, retryAfter: Duration?)
    case hold(Hold.Reason, Duration?)
    case pause
    case yield
    case cancel
    case fail(TransferFailure)
    /// Everything that is there is of no use: a new generation, at once.
    case restart(String)
    /// The rest is asked for otherwise, at once.
    case other(String)
    /// The engine closes.
    case rest
  }

  var record: JobRecord
  /// Tells this activation from an earlier one of the same job.
  let run: UInt64
  /// Made when they are needed: a small file needs none.
  private(set) lazy var lane = DispatchQueue(label: "outrider.file", target: io)
  private(set) lazy var hashingLane = DispatchQueue(label: "outrider.hash", target: hashing)
  private let io: DispatchQueue
  private let hashing: DispatchQueue
  /// What the record said when the activation began.
  let firstHistory: JobHistory
  let firstGeneration: Int
  /// Something was asked of the network.
  var hasRequested = false
  /// A login page was looked for.
  var hasLookedForPortal = false
  var destination: Destination?
  var file: StagingFile?
  var hasher: FileHasher? { didSet { hashedOffset = 0 } }
  /// All of a small file, which goes to the publisher without having been written: one hand-over instead of three.
  var content: TransferBuffer?
  /// What the scheduler counts its transfers against.
  let origin: UInt32
  /// The origin that its last attempt failed at, at the end of however many redirects.
  var failedAt: UInt32?
  /// What the server says of an answer that came to its end.
  var contentCheck: ContentCheck?
  /// What the server says of the whole file (`Repr-Digest`).
  var toldDigests: [ContentDigest] = []
  /// A chunk came wrong: a cache on the way may have it so.
  var hadBadChunk = false
  /// What was said of a file that came out otherwise.
  var unfulfilled: Unfulfilled?
  var phase = Phase.opening
  /// What was asked for when the activation was over but for its last commit.
  var commands = CommandQueue()
  var next: Next?
  var segments: [Segment] = []
  /// Also those of segments that ended, until their last buffer is on the file.
  var writers: [UInt64: BodyWriter] = [:]
  var chunks: ChunkMap?
  var sources: SourceTable
  /// Whether it was looked at which of them may be asked.
  var hasValidatedSources = false
  /// Challenges answered, by origin, where there are several.
  var challenged: [String: Int] = [:]

  /// The first byte that isn't on the file, in a job without chunks.
  var writtenOffset: Int64 = 0
  /// The bytes before it that a resume is compared with, where no digest checks the file.
  var tail: [UInt8] = []
  var isIdentityJournalled = false
  var isIdentityOnItsWay = false
  var checkpointInFlight = false
  var lastCheckpoint: Duration
  /// Of this activation: when it began, and what had been received before.
  private let began: Duration
  private let receivedBefore: Int64
  /// Bytes on the file at the last checkpoint.
  var checkpointedBytes: Int64 = 0
  /// Bytes of the file that arrived and were written, in this activation, and how many of them before the last checkpoint.
  var writtenBytes: Int64 = 0
  var synchronisedBytes: Int64 = 0
  /// Buffers that its lane has to write, or has written without this thread having heard.
  var writesInLane = 0
  /// A write kept the network thread waiting.
  var isSlowToWrite = false
  var pendingChunkHashes = 0
  /// Buffers that the hashing lane holds.
  var hashBacklog = 0
  /// How far the digest has come.
  var hashedOffset: Int64 = 0
  var ioError: SystemCallError?
  var isLengthProved = true
  /// Bytes that the file was to have when there was room for it; from then on it counts in the ledger of its volume.
  var admittedTotal: Int64?
  var isPreallocated = false
  /// Bytes that may still arrive before more has to be reserved; nil: no budget is charged.
  var allowance: Int64?
  var isExtending = false
  var mayBeRangeless = false
  /// Over HTTP/2 its server gave no length.
  var avoidsHTTP2 = false
  /// Times that everything was given up because a server refused the rest, in this activation.
  var restarts = 0
  var speed: SpeedGauge
  var growth = SegmentGrowth()
  /// Bytes per second that one of its connections brought, and how often a slow one was replaced.
  var bestRate = 0.0
  var reliefs = 0
  /// Whether it was decided how many connections it starts with.
  var hasSeveral = false
  var lastProgressEvent: Duration = .zero
  /// By origin, in memory only.
  var credentials: [String: Authorization.Session] = [:]
  /// Those that redirects set, likewise.
  var cookies = CookieJar()
  /// Client certificates, likewise.
  var identities: [String: ClientCertificate] = [:]
  var staleNonces = 0
  var trustedKeys: [String: String] = [:]

  init(_ record: JobRecord, origin: UInt32, run: UInt64, io: DispatchQueue, hashing: DispatchQueue, now: Duration) {
    self.record = record
    self.origin = origin
    self.run = run
    self.io = io
    self.hashing = hashing
    firstHistory = record.history
    sources = SourceTable(
      url: record.specification.url, mirrors: record.specification.mirrors, banned: record.history.bannedSources)
    firstGeneration = record.generation
    lastCheckpoint = now
    began = now
    receivedBefore = record.receivedBytes
    speed = SpeedGauge(now)
  }

  var id: JobID { record.id }

  /// Whoever opens the file again trusts what the journal says of it, and nothing else.
  func distrust(_ marker: String) {
    if record.partial?.bootIdentifier != Partial.lostPages { record.partial?.bootIdentifier = marker }
  }

  func attempt(until clock: any TransferClock, _ status: Int?, _ outcome: String) -> Attempt {
    Attempt(
      wall: clock.wall, duration: (clock.boot - began).inNanoseconds, bytes: record.receivedBytes - receivedBefore,
      status: status, outcome: outcome)
  }

  /// Bytes of the file that have arrived, durable or not.
  var arrivedBytes: Int64 {
    if let chunks {
      return segments.reduce(chunks.arrivedBytes) {
        $0 + chunks.claimedBytes(in: $1.chunks ?? 0..<0, before: $1.writer?.offset ?? $1.start)
      }
    }
    // What is compared with what is there is no part of it.
    return max(writtenOffset, segments.first?.writer?.offset ?? 0)
  }

  var durableBytes: Int64 { chunks?.journalledBytes ?? record.partial?.durableOffset ?? 0 }
  /// What a server says may be any number: beyond what is possible it is as good as none, but sums have to stay numbers.
  var total: Int64? {
    let told = record.specification.exactSize ?? record.partial?.entity.total ?? record.specification.declaredSize
    return told.map { min(max(0, $0), DownloadSpecification.largestSize) }
  }
}

/// One transfer of a job: from the first request of a chain to the end of its body. Network thread only.
final class Segment {
  enum Plan {
    case follow(ParsedURL, dropsCredentials: Bool, becomesGet: Bool, wait: Duration)
    /// It has the file, but not this part of it; another source may.
    case elsewhere(String)
    case again(ResumePolicy.Ask, ResumePolicy.Fault)
    case next(ActiveJob.Next)
    case problem(TransferProblem, retryAfter: Duration?)
    case authenticate(EngineCore.Asked)
    case complete
    /// What is at its place is all that there is.
    case unchanged(KnownVersion)
  }

  let job: JobID
  var transfer: TransferID
  var ask: ResumePolicy.Ask
  /// Chunks that it fetches, where the job has a chunk list.
  var chunks: Range<Int>?
  var start: Int64
  /// Who is asked: the job's URL, or one of its mirrors.
  let source: Int
  var url: ParsedURL
  var visited: [ParsedURL] = []
  var dropsCredentials = false
  /// A redirect said so: another method and the body are over (RFC 9110, 15.4).
  var hasBecomeGet = false
  var writer: BodyWriter?
  var plan: Plan?
  /// It asks only for another version than this one.
  var known: KnownVersion?
  /// All of the same version came where a range of it was asked for.
  var hasLostRange = false
  /// Several parts came where one range was asked for.
  var hasSeenParts = false
  /// Why it asks for everything although there is something already.
  var whyWhole: String?
  /// No connection, and then no complete head by then: the request is given up.
  var headDeadline: Duration?
  var isConnected = false
  /// When its last request was made.
  var asked: Duration = .zero
  /// Its answer may come, or came, by HTTP/2.
  var mayBeHTTP2 = false
  var stall: StallWindow
  /// Somebody is asked for a credential or for trust, and until when; no transfer is under way.
  var question: (challenge: AuthenticationChallenge, until: Duration)?
  /// More of an allowance is being asked for; its transfer is paused.
  var isWaitingForAllowance = false
  /// Why the certificate wasn't accepted.
  var trustProblem: String?
  /// How often, in a row, its request came too late for the connection that it was sent on.
  var timesTooLate = 0
  /// Alone on its connection: what is done to the socket concerns nobody else.
  var hasOwnConnection = false
  var window = ReceiveWindow()
  /// Bytes that this connection brought, for the decision about another, and since when.
  var received: Int64 = 0
  var began: Duration?

  init(
    job: JobID, transfer: TransferID, ask: ResumePolicy.Ask, source: Int = 0, url: ParsedURL, start: Int64,
    stall: StallWindow
  ) {
    self.job = job
    self.source = source
    self.transfer = transfer
    self.ask = ask
    self.url = url
    self.start = start
    self.stall = stall
  }
}

extension Segment {
  func method(of job: ActiveJob) -> String { hasBecomeGet ? "GET" : job.record.specification.method }
  func body(of job: ActiveJob) -> [UInt8] { hasBecomeGet ? [] : job.record.specification.body }
}

/// Why a job has no slot and isn't in the scheduler's queue.
struct Hold {
  enum Reason: Equatable, Sendable {
    case retry(String)
    /// A certificate isn't valid yet by a clock that is in doubt; with how far wall time was ahead of boot time.
    case clock(ClockDoubt, offset: Int64)
    case publication(Int)
    case disk(SpaceShortage)
    case volume(Int32)
    /// Another process, or an earlier run that hangs, writes to its file.
    case held(String)
    case allowance(budget: String, missing: Int64)
    case paused(String)
    case journal(String, isOfVolume: Bool)

    /// The time counts as one without progress: an attempt failed, and the next one is near.
    var isPartOfTrying: Bool {
      switch self {
      case .retry, .publication: true
      default: false
      }
    }

    var isOfJournal: Bool { if case .journal = self { true } else { false } }

    static func journal(_ error: any Error) -> Self {
      .journal("\(error)", isOfVolume: (error as? any JournalObstacle)?.isOfVolume ?? false)
    }

    /// For the journal, which people ask when no engine runs.
    var text: String {
      switch self {
      case .retry(let error): error
      case .clock(let doubt, _): "the clock is in doubt: \(doubt)"
      case .publication: "the file isn't published yet"
      case .disk(let shortage): "\(shortage)"
      case .volume(let code): "the volume fails: \(SystemCallError.message(code))"
      case .held(let what): "the partial file \(Printable.text(what))"
      case .allowance(let budget, let missing): "the allowance \(Printable.text(budget)) lacks \(missing) bytes"
      case .paused(let by): "paused by \(by)"
      case .journal(let what, _): "the journal can't be written: \(what)"
      }
    }
  }

  var entry: Scheduler.Entry
  var reason: Reason
  var since: Duration
  /// Boot time at which it is looked at again; nil: when someone says so.
  var until: Duration?
  var serial: UInt64
}

/// Bytes per second over the last few seconds.
struct SpeedGauge {
  private var samples: [(at: Duration, bytes: Int64)] = []
  private var total: Int64 = 0
  private static let window: Duration = .seconds(5)

  init(_ now: Duration) { samples = [(now, 0)] }

  mutating func add(_ bytes: Int64, at now: Duration) {
    total += bytes
    if let last = samples.last, now - last.at < .milliseconds(100) { return }
    samples.append((now, total))
    while samples.count > 2, now - samples[1].at > Self.window { samples.removeFirst() }
  }

  func bytesPerSecond(at now: Duration) -> Double {
    guard let first = samples.first, now > first.at else { return 0 }
    return Double(total - first.bytes) / (now - first.at).inSeconds
  }
}
