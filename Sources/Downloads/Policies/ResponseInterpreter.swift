internal import AssetModel

/// What follows from the head of an answer, as far as its body isn't wanted.
enum ResponsePlan: Equatable {
  case follow(ParsedURL, dropsCredentials: Bool, becomesGet: Bool, wait: Duration)
  /// It has the file, but not this part of it; another source may.
  case elsewhere(String)
  case again(ResumePolicy.Ask, ResumePolicy.Fault)
  case next(NextStep)
  case problem(TransferProblem, retryAfter: Duration?)
  /// The peer asks who it is (401 or 407): `Authenticator` decides.
  case challenged
  case authenticate(Authenticator.Question)
  case complete
  /// What is at its place is all that there is.
  case unchanged(KnownVersion)

  /// What becomes of the body of an answer with this plan.
  var verdict: HeadVerdict {
    switch self {
    case .again(_, .server), .again(_, .dropsRange), .again(_, .severalParts), .problem(.protocolFault, _): .abort
    case .follow, .again, .authenticate, .challenged, .problem: .drain
    case .next, .elsewhere, .complete, .unchanged: .abort
    }
  }
}

/// Reads the head of one answer: request, head and what is there go in, and what to do with the body comes out, with what has
/// to be remembered. A pure value, used once.
struct ResponseInterpreter {
  /// What is done besides, in order.
  enum Effect: Equatable {
    /// Bytes follow that belong at an offset.
    case take(Entity, from: Int64)
    /// The same, and less than was asked for.
    case takePart(Entity, from: Int64, to: Int64)
    /// All of the file follows, for a new and empty one. `provesLength`: a cut can be told from the end.
    case takeWhole(Entity, provesLength: Bool)
    /// All of the file follows where a piece was asked for: chunks that are missing are taken from it.
    case takeMissingChunks(Entity)
    case startAfresh(reason: String, isAnother: Bool)
    /// Of the whole file, as the head tells them.
    case keepDigests
    case originHasNoRanges
    case originHonours(RangeCondition)
    case retryAfter(Duration, value: String)
  }

  /// A job with a chunk list, when the answer came.
  struct Chunks {
    var arrivedBytes: Int64
    var connections: Int
    /// Another source may have ranges.
    var hasAnotherSource: Bool
  }

  let head: ResponseHead
  let request: RequestState
  /// Where the bytes of the answer belong, and how far the file is certain.
  let start: Int64
  let offset: Int64
  let chunks: Chunks?
  let rules: HostRules
  /// Seconds since 1970.
  let wall: Int64
  /// The version that it was asked about.
  let known: KnownVersion?
  /// Something was given to an origin that had asked for it.
  let hasAnswered: Bool
  var record: JobRecord
  var cookies: CookieJar
  /// The job's sources may have no ranges.
  var mayBeRangeless: Bool
  private(set) var effects: [Effect] = []

  static let maxValidatorRestarts = 2
  static let maxServerFaults = 3

  init(
    head: ResponseHead, request: RequestState, start: Int64, offset: Int64, chunks: Chunks?, rules: HostRules,
    wall: Int64, known: KnownVersion?, hasAnswered: Bool, record: JobRecord, cookies: CookieJar, mayBeRangeless: Bool
  ) {
    self.head = head.asWhole
    self.request = request
    self.start = start
    self.offset = offset
    self.chunks = chunks
    self.rules = rules
    self.wall = wall
    self.known = known
    self.hasAnswered = hasAnswered
    self.record = record
    self.cookies = cookies
    self.mayBeRangeless = mayBeRangeless
  }

  /// nil: the body is wanted.
  mutating func plan() -> ResponsePlan? {
    // Whoever answers anything but a challenge, a refusal or another place has taken the credential or hasn't looked at it: the
    // next challenge isn't its refusal.
    if hasAnswered, !(300..<400).contains(head.status), ![401, 403, 407].contains(head.status) {
      record.history.challenges = 0
    }
    switch head.status {
    case 301, 302, 303, 307, 308: return redirected()
    case 401, 407: return .challenged
    case 200, 206, 412, 416: return content()
    case 304:
      guard let known else { return .problem(.status(head.status), retryAfter: nil) }
      return .unchanged(known)
    case 429, 503:
      let wait = requestedWait
      if let wait { effects.append(.retryAfter(wait, value: head.first("retry-after") ?? "")) }
      return .problem(.status(head.status), retryAfter: wait)
    // This request is too much for it at the moment; of others it says nothing (RFC 9110, 15.5.14).
    case 413: return .problem(.status(head.status), retryAfter: requestedWait)
    // Another connection may lead to who has it (15.5.20).
    case 421 where !request.wasMisdirected: return .again(request.ask, .misdirected)
    default: return .problem(.status(head.status), retryAfter: nil)
    }
  }

  private var requestedWait: Duration? {
    head.first("retry-after").flatMap { RetryAfter.parse($0, responseDate: head.date, wall: wall) }
  }

  private mutating func redirected() -> ResponsePlan {
    let setsCookie = cookies.take(head.values("set-cookie"), from: request.url, now: wall)
    let decision = RedirectPolicy.decide(
      status: head.status, method: request.method(of: record.specification),
      hasBody: !request.body(of: record.specification).isEmpty, location: head.addresses("location"), from: request.url,
      visited: request.visited, rules: rules, setsCookie: setsCookie)
    switch decision {
    case .follow(let url, let drops, let becomesGet):
      // It is the redirected request that has to wait (RFC 9110, 10.2.3), and no other: what one origin says is nothing that
      // the next has asked for.
      var wait = Duration.zero
      if !record.history.honouredRedirect, let requested = requestedWait, requested > .zero {
        record.history.honouredRedirect = true
        wait = requested
      }
      return .follow(url, dropsCredentials: drops, becomesGet: becomesGet, wait: wait)
    case .refuse(var failure):
      failure.hop = request.visited.count
      return .next(.fail(failure))
    }
  }

  private mutating func content() -> ResponsePlan? {
    // Believed, it would wait for that much room for ever.
    if let total = ResumePolicy.total(of: head), total > DownloadSpecification.largestSize {
      return .problem(
        .protocolFault("\(request.url.origin) says that the file has \(total) bytes"), retryAfter: nil)
    }
    if let chunks {
      if head.status == 200, request.ask != .whole, chunks.hasAnotherSource {
        return .elsewhere("\(request.url.origin) has no ranges")
      }
      if head.status == 200, head.first("accept-ranges")?.lowercased() == "none" { mayBeRangeless = true }
    }
    // One of many answers may be an odd one.
    if ResumePolicy.provesRangeless(ask: request.ask, head: head),
      chunks == nil ? start > 0 : mayBeRangeless && head.status == 200
    {
      effects.append(.originHasNoRanges)
    }
    let decision = ResumePolicy.decide(
      record, offset: offset, ask: request.ask, head: head, finalURL: request.url.text,
      isRepeated: request.hasSeenParts)
    switch decision {
    case .append(let entity, let end):
      if let condition = acceptedCondition { effects.append(.originHonours(condition)) }
      mayBeRangeless = false
      effects += [.keepDigests, end.map { .takePart(entity, from: start, to: $0) } ?? .take(entity, from: start)]
      return nil
    case .fresh(let entity, let isAnother):
      return chunks.map { whole(for: $0, entity) } ?? fresh(entity, isAnother)
    case .restart where chunks != nil, .again(.probe, _) where chunks != nil:
      return .again(request.ask, .server("\(head.status) to a request for a part"))
    case .complete: return .complete
    case .restart: return changed(otherwise: "\(head.status) to every request for a part")
    case .again(let ask, let fault): return .again(ask, fault)
    case .fail(let failure): return .next(.fail(failure))
    }
  }

  /// The condition that brought a range from an origin which drops it under another one.
  private var acceptedCondition: RangeCondition? {
    guard request.hasLostRange, case .range(_, _, let condition) = request.ask else { return nil }
    return RangeCondition(condition)
  }

  private mutating func fresh(_ entity: Entity, _ isAnother: Bool) -> ResponsePlan? {
    if head.version.major >= 2, head.contentLength.value == nil, record.specification.exactSize == nil,
      record.specification.digest == nil, entity.reprDigest == nil
    {
      return .again(.whole, .endless)
    }
    let reason = isAnother ? Self.changedReason : request.whyWhole ?? "the server sends all of it"
    if isAnother {
      record.history.validatorRestarts += 1
      if record.history.validatorRestarts > Self.maxValidatorRestarts {
        // The next attempt has nothing to compare with, and may find it unchanged. It is no progress, however much comes.
        effects.append(.startAfresh(reason: reason, isAnother: false))
        return .problem(.protocolFault("its file changes with every request"), retryAfter: nil)
      }
    }
    effects += [
      .startAfresh(reason: reason, isAnother: isAnother), .keepDigests,
      .takeWhole(entity, provesLength: head.contentLength.value != nil || head.transferCoding == .chunked),
    ]
    return nil
  }

  private static let changedReason = "the file changed on the server"

  /// A server that sends everything where a piece was asked for: what is there already isn't taken again.
  private mutating func whole(for chunks: Chunks, _ entity: Entity) -> ResponsePlan? {
    // With little there, all of it costs no more than asking again.
    if request.ask != .whole, !mayBeRangeless, chunks.arrivedBytes > ResumePolicy.worthABareRange {
      mayBeRangeless = true
      return .again(request.ask, .bareRange)
    }
    mayBeRangeless = true
    if chunks.connections > 1 { return .next(.askOtherwise("the server has no ranges")) }
    effects.append(.takeMissingChunks(entity))
    return nil
  }

  private mutating func changed(otherwise: String) -> ResponsePlan {
    let (plan, reason) = Self.changed(&record.history, otherwise: otherwise)
    if let reason { effects.append(.startAfresh(reason: reason, isAnother: false)) }
    return plan
  }

  /// Another version is there. After some of them the next attempt has nothing to compare with: that is no progress,
  /// however much comes. `otherwise`: what is said then. `startsAfresh`: why what is there goes before.
  static func changed(
    _ history: inout JobHistory, otherwise: String
  ) -> (plan: ResponsePlan, startsAfresh: String?) {
    history.validatorRestarts += 1
    guard history.validatorRestarts <= maxValidatorRestarts else {
      return (.problem(.protocolFault(otherwise), retryAfter: nil), changedReason)
    }
    return (.next(.startAfresh(changedReason)), nil)
  }
}
