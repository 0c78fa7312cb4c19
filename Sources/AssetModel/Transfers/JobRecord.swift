/// The number of a job's row.
public struct JobID: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Unique within one journal, and never used again.
  public let number: Int64

  /// Creates the identifier of a job that a journal numbered so.
  public init(_ number: Int64) { self.number = number }

  public static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  public var description: String { "\(number)" }
}

/// How far a job has come.
public enum JobState: Sendable, Equatable {
  /// Not complete: running, queued, or held up for a reason that is checked anew.
  case open
  /// Paused by a command; what is there stays.
  case paused
  /// Size and digest are right and the file is synchronised; it only has to be published.
  case verified
  /// The file is at its place. Everyone may be told.
  case finished
  case failed(TransferFailure)
  case cancelled

  /// Whether it is over for good: finished, failed or cancelled.
  public var isTerminal: Bool {
    switch self {
    case .open, .paused, .verified: false
    case .finished, .failed, .cancelled: true
    }
  }
}

/// What a job has tried so far: the counters that retry and resume decisions look at.
public struct JobHistory: Sendable, Equatable {
  /// Consecutive attempts without progress.
  public var fruitlessAttempts = 0
  /// Fresh starts because the validator had changed.
  public var validatorRestarts = 0
  /// Whole-file digests that didn't fit.
  public var digestMismatches = 0
  /// Delayed re-tests after 404.
  public var publicationRetests = 0
  /// Answers that broke the protocol.
  public var serverFaults = 0
  /// Authentication challenges answered.
  public var challenges = 0
  /// The bare range was asked for once (resume by digest, without a validator).
  public var triedBareRange = false
  /// Asked once with `no-transform`.
  public var triedNoTransform = false
  /// A redirect's `Retry-After` was honoured once. It isn't again: each redirect could repeat it.
  public var honouredRedirect = false
  /// One bit for each source that sent wrong chunks: its URL, then its mirrors.
  public var bannedSources: UInt64 = 0
  /// The most bytes that were ever durable: progress is measured from here.
  public var highWater: Int64 = 0

  /// Creates the history of a job that hasn't been tried yet.
  public init() {}
}

/// One download, as the journal keeps it.
public struct JobRecord: Sendable, Equatable {
  public let id: JobID
  /// What was asked for.
  public var specification: DownloadSpecification
  /// May differ from the specification's after promotion, demotion and aging.
  public var transferClass: TransferClass
  /// Counts fresh starts; a message with an older one is dropped.
  public var generation: Int
  /// How far it has come.
  public var state: JobState
  /// What there is of the file; nil before the first byte.
  public var partial: Partial?
  /// What it has been through.
  public var history: JobHistory
  /// Header and body bytes received on every hop, retry and restart.
  public var receivedBytes: Int64
  /// What of its budget is promised to it and wasn't charged yet. The journal keeps it: a commit doesn't change it.
  public var reservedBytes: Int64
  /// When it was added, or began to wait for its turn again.
  public var enqueued: StoredMoment
  /// Waiting before the next attempt, with the reason that `explain` gives.
  public var wait: StoredWait?
  /// Moment of the last progress: the fourteen days without any count from here.
  public var lastProgress: StoredMoment
  /// Why the last attempt failed, for people.
  public private(set) var lastError: String?
  /// What that was about, where a caller decides by it.
  public private(set) var lastCause: FailureCause?
  /// Identity of the published file, from `verified` on: how recovery knows that the rename happened.
  public var publishedInode: UInt64?
  /// Size of the file, from `verified` on.
  public var finalSize: Int64?

  /// Creates a record of its parts.
  public init(
    id: JobID, specification: DownloadSpecification, transferClass: TransferClass? = nil, generation: Int = 1,
    state: JobState = .open, partial: Partial? = nil, history: JobHistory = JobHistory(), receivedBytes: Int64 = 0,
    reservedBytes: Int64 = 0,
    enqueued: StoredMoment, wait: StoredWait? = nil, lastProgress: StoredMoment? = nil, lastError: String? = nil,
    lastCause: FailureCause? = nil, publishedInode: UInt64? = nil, finalSize: Int64? = nil
  ) {
    self.id = id
    self.specification = specification
    self.transferClass = transferClass ?? specification.transferClass
    self.generation = generation
    self.state = state
    self.partial = partial
    self.history = history
    self.receivedBytes = receivedBytes
    self.reservedBytes = reservedBytes
    self.enqueued = enqueued
    self.wait = wait
    self.lastProgress = lastProgress ?? enqueued
    self.lastError = lastError
    self.lastCause = lastCause
    self.publishedInode = publishedInode
    self.finalSize = finalSize
  }
}

extension JobRecord {
  /// What a failed job left for the next that asks for the same.
  public var leftover: Partial? {
    guard case .failed(let failure) = state,
      failure.isForWantOfPlace || failure.isRefusedAccess || failure.keptBytes != nil
    else { return nil }
    return partial
  }

  /// Keeps why an attempt failed.
  ///
  /// - Parameters:
  ///   - text: The sentence.
  ///   - cause: What it was about, where a caller decides by it.
  public mutating func noteError(_ text: String, _ cause: FailureCause? = nil) {
    (lastError, lastCause) = (text, cause)
  }

  /// Takes over what a later request for the same file expects of its bytes. Those that are there stay, and have to be
  /// what it expects.
  package mutating func expect(_ later: DownloadSpecification) {
    guard !specification.expectsTheSame(as: later) else { return }
    history.digestMismatches = 0
    if let list = specification.chunks, later.chunks == nil { partial?.forgetChunks(list) }
    specification.digest = later.digest
    specification.chunks = later.chunks
  }

  /// Takes over the mirrors of a later specification. The sources that sent wrong chunks are forgotten: their numbers were those of the
  /// old list.
  package mutating func take(mirrors: [String]) {
    guard specification.mirrors != mirrors else { return }
    specification.mirrors = mirrors
    history.bannedSources = 0
  }

  /// Of the time without progress only attempts and the waits between them count: what was spent in queues, behind gates
  /// and paused passes as if it hadn't been. `idle`: nanoseconds of it, in this boot.
  package mutating func forgiveWaiting(_ idle: Int64, now: StoredMoment) {
    guard idle > 0, lastProgress.bootIdentifier == now.bootIdentifier else { return }
    let (boot, overflow) = lastProgress.boot.addingReportingOverflow(idle)
    lastProgress.boot = overflow ? now.boot : min(boot, now.boot)
  }

  /// Bytes of the file that would survive a power cut.
  public var durableBytes: Int64 {
    if state == .finished { return finalSize ?? 0 }
    guard let partial else { return 0 }
    guard let chunks = specification.chunks else { return partial.durableOffset }
    var bytes: Int64 = 0
    for chunk in 0..<chunks.count where chunk / 8 < partial.verifiedChunks.count {
      guard partial.verifiedChunks[chunk / 8] & 1 << (chunk % 8) != 0 else { continue }
      bytes += Int64(chunks.range(of: chunk).count)
    }
    return bytes
  }
}

/// What a scheduler keeps of a job that isn't running: 100 000 of them must fit.
public struct JobSummary: Sendable, Equatable {
  public var id: JobID
  /// The app that asked for it.
  public var app: String
  /// Scheme, host and port of its URL.
  public var origin: String
  /// Who waits for it.
  public var transferClass: TransferClass
  /// Which of the app's downloads goes first; higher first.
  public var priority: Int
  /// Bytes still to come as far as known, else nil.
  public var remaining: Int64?
  /// When it was added, or began to wait for its turn again.
  public var enqueued: StoredMoment
  /// How long it has to wait; nil where it needn't.
  public var wait: StoredWait?
  /// How far it has come.
  public var state: JobState

  /// Creates a summary of its parts.
  public init(
    id: JobID, app: String, origin: String, transferClass: TransferClass, priority: Int, remaining: Int64?,
    enqueued: StoredMoment, wait: StoredWait?, state: JobState
  ) {
    self.id = id
    self.app = app
    self.origin = origin
    self.transferClass = transferClass
    self.priority = priority
    self.remaining = remaining
    self.enqueued = enqueued
    self.wait = wait
    self.state = state
  }
}
