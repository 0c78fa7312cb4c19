/// How a server that drops a range bound by `If-Range` gives the rest of a file (RFC 9110, 13.1).
public enum RangeCondition: Int64, Sendable {
  case ifMatch = 1
  /// Without a condition: the validators of its answer are compared.
  case comparedAfterwards = 2
}

/// What is remembered of an origin (`scheme://host:port`).
public struct OriginRecord: Sendable, Equatable {
  /// Scheme, host and port.
  public var origin: String
  /// The origin showed that it has no ranges; forgotten after 24 hours.
  public var rangeless: StoredWait?
  /// `Retry-After`: nothing is asked before it ends.
  public var retryAfter: StoredWait?
  /// `Retry-After` as it was sent, for `explain`.
  public var retryAfterValue: String?
  /// How it has to be asked for ranges, where not by `If-Range`; forgotten after 24 hours.
  public var rangeCondition: RangeCondition?
  /// How long `rangeCondition` counts.
  public var rangeConditionWait: StoredWait?

  /// Creates what is known of an origin.
  public init(
    origin: String, rangeless: StoredWait? = nil, retryAfter: StoredWait? = nil, retryAfterValue: String? = nil,
    rangeCondition: RangeCondition? = nil, rangeConditionWait: StoredWait? = nil
  ) {
    self.origin = origin
    self.rangeless = rangeless
    self.retryAfter = retryAfter
    self.retryAfterValue = retryAfterValue
    self.rangeCondition = rangeCondition
    self.rangeConditionWait = rangeConditionWait
  }
}

/// What became of one specification that was added.
public enum AddResult: Sendable, Equatable {
  /// A job of a name that was used before continues its count of generations.
  case added(JobID, generation: Int)
  /// The same identifier with an equal request (but perhaps more or less urgent) is there already (BAErrorCode 100).
  case alreadyScheduled(JobID)
  /// The same identifier with another request: it has to be cancelled first.
  case conflict(JobID)
  /// The app has as many open jobs as it may.
  case tooMany(limit: Int)
  /// The allowance has no room: bytes that are missing (BAErrorCode 112).
  case allowance(missing: Int64)
  /// Its numbers can't be meant (BAErrorCode 102): why, for people.
  case invalid(String)

  /// The job that was added; nil for every other result.
  public var job: JobID? {
    if case .added(let id, _) = self { id } else { nil }
  }
}

/// One change of a journal. The changes of one commit happen together or not at all.
public enum JournalChange: Sendable, Equatable {
  /// Every field of a job but its specification. Ignored when the row has a newer generation.
  case job(JobRecord)
  /// An attempt that failed; the newest of each job are kept.
  case attempt(Attempt, JobID)
  case origin(OriginRecord)
}

/// Where the transfer engine keeps what must survive it. Calls block; they come from one thread at a time, but not always
/// from the same. Every method is one transaction and durable when it returns.
public protocol DownloadJournal: Sendable {
  /// Adds jobs; duplicates and allowances are decided in the same transaction. Results are in the order of the requests.
  func add(_ specifications: [DownloadSpecification], now: StoredMoment) throws -> [AddResult]
  /// Settling a job (`finished`, `failed`) makes its delivery due in the same transaction.
  func commit(_ changes: [JournalChange]) throws
  /// Reserves further bytes of its budget for an open job that needs more than it reserved; returns the bytes that are
  /// missing, or nil after they were reserved.
  func reserve(_ bytes: Int64, for job: JobID) throws -> Int64?
  func job(_ id: JobID) throws -> JobRecord?
  /// Those of them that are there, in one transaction.
  func jobs(_ ids: [JobID]) throws -> [JobRecord]
  func job(app: String, identifier: String) throws -> JobRecord?
  /// Every job that isn't settled, in the order of their numbers.
  func forEachOpenJob(_ body: (JobSummary) -> Void) throws
  func origins() throws -> [OriginRecord]
}

extension DownloadJournal {
  /// The jobs of `ids` that there are, one after the other; a journal that can read many at once does it better.
  ///
  /// - Parameter ids: The jobs to read.
  /// - Returns: Those that there are, in the order of `ids`.
  /// - Throws: Whatever reading one of them throws.
  public func jobs(_ ids: [JobID]) throws -> [JobRecord] { try ids.compactMap { try job($0) } }
}
