internal import AssetModel

/// Whether bytes that are there and bytes that come belong to one version of a file. libcurl knows nothing of resuming;
/// this decides, and it never splices (RFC 9110, 13 and 14).
enum ResumePolicy {
  enum Decision: Equatable, Sendable {
    /// The body goes behind what is there. `end`: where it ends before what was asked for does; nil: it is all of that.
    case append(Entity, end: Int64? = nil)
    /// The body is the whole file, for a new and empty one.
    case fresh(Entity, validatorChanged: Bool)
    /// What is there is all; the digest, if any, has the last word.
    case complete
    /// The file changed: forget what is there, and ask for all.
    case restart
    /// Take nothing of this body and ask once more.
    case again(Ask, Fault)
    case fail(TransferFailure)
  }

  enum Fault: Equatable, Sendable {
    /// The server broke the protocol; the connection isn't used again.
    case server(String)
    /// The bare range, once per job.
    case bareRange
    /// It says itself that it has another file than the one that is wanted: perhaps a cache does.
    case stale
    /// The redirects lead to another place than before, whose validators say nothing of the old one's.
    case elsewhere
    case coded
    case probe
    /// All of the same version came where a range of it was asked for: the condition is what it stumbled over.
    case dropsRange
    /// An envelope for several ranges, where one was asked for.
    case severalParts
    /// It came to a server that isn't the one it is for.
    case misdirected
    /// Without a length, where the end of a body can't be told from a cut.
    case endless
  }

  /// Bytes below which starting afresh is cheaper than one more question.
  static let worthABareRange: Int64 = 8 << 20

  /// The digest that the finished file has to have.
  static func knownDigest(_ job: JobRecord) -> ContentDigest? {
    job.specification.digest ?? job.partial?.entity.reprDigest
  }

  /// Whether digests say in the end that the file is the one that is meant.
  static func isIdentified(_ job: JobRecord) -> Bool { knownDigest(job) != nil || job.specification.chunks != nil }

  /// Whether anything tells what is there from another version's bytes, so that another request goes on from it.
  static func canGoOn(_ job: JobRecord) -> Bool {
    isIdentified(job) || (job.partial?.entity.strongTag ?? job.partial?.entity.lastModified) != nil
  }

  /// Whether what is there is worth keeping for the next request, although this one failed.
  static func outlives(_ failure: TransferFailure, _ job: JobRecord, durableBytes: Int64) -> Bool {
    // Who is in the way says nothing of the file.
    if failure.isOfTheWay { return canGoOn(job) }
    switch failure.reason {
    // As after an interruption: nothing was said against what is there, unless it was begun again and again.
    case .noProgress, .offline:
      return canGoOn(job) && job.history.validatorRestarts == 0 && job.receivedBytes / 2 < durableBytes + maxSurplus
    // What a digest proves is good for another URL of the same file, or for this one when it is there or grants access
    // again; what a strong entity tag tells apart is good for the same place. What breaks the protocol says no more.
    case .gone, .challenge, .hostileResponse: return isIdentified(job) || job.partial?.entity.strongTag != nil
    // An answer that brings nothing says nothing against it, either.
    case .refused where failure.isBareStatus: return isIdentified(job) || job.partial?.entity.strongTag != nil
    default: return false
    }
  }

  /// What is said of bytes that didn't outlive a failure.
  static func reasonForLoss(_ failure: TransferFailure, _ job: JobRecord) -> String? {
    switch failure.reason {
    case .noProgress where canGoOn(job), .offline where canGoOn(job): "they were begun again and again"
    case .noProgress, .offline, .gone, .challenge, .trust, .notAllowed, .hostileResponse:
      "nothing tells which version they are of"
    case .refused where failure.isBareStatus || failure.isOfTheWay: "nothing tells which version they are of"
    case .refused, .sizeMismatch, .digestMismatch, .volume, .allowance: nil
    }
  }

  /// Bytes of heads, of repeated attempts and of what is compared that say nothing of a file.
  private static let maxSurplus: Int64 = 1 << 20

  /// Bytes before the end of what is there that are asked for again and compared, where no digest checks the file: some
  /// servers give the same validator to other bytes (a file replaced within a second by one as long).
  static let comparedLength: Int64 = 64 << 10
  /// Fewer from the third attempt in a row on that brought nothing: what comes of connections that end early would be
  /// compared again and again.
  static let minComparedLength: Int64 = 1 << 10

  static func tailLength(of job: JobRecord) -> Int64 {
    if isIdentified(job) { return 0 }
    return max(minComparedLength, comparedLength >> (2 * min(3, max(0, job.history.fruitlessAttempts - 2))))
  }

  static func comparedBytes(_ job: JobRecord, offset: Int64) -> Int64 {
    min(offset, tailLength(of: job))
  }

  /// Bytes that are asked for again of an origin that is remembered to have no ranges: that was another file of it, perhaps, and to ask
  /// costs the head of an answer.
  static let worthAsking: Int64 = 1 << 20

  /// `remembered`: what worked last with a server that drops the range otherwise.
  static func ask(
    _ job: JobRecord, offset: Int64, originIsRangeless: Bool, remembered: RangeCondition? = nil
  ) -> Ask {
    let first = offset - comparedBytes(job, offset: offset)
    // From the first byte on, asking for all of it costs no more than comparing.
    guard first > 0, !originIsRangeless || first >= worthAsking, job.specification.hasRanges,
      let entity = job.partial?.entity,
      entity.coding == nil
    else { return .whole }
    guard let validator = entity.strongTag ?? entity.lastModified else {
      return isIdentified(job) ? .range(from: first, to: nil, condition: .unbound) : .whole
    }
    let condition: Condition =
      switch remembered {
      case .ifMatch? where entity.strongTag != nil: .ifMatch(validator)
      case .comparedAfterwards?: .unbound
      default: .ifRange(validator)
      }
    return .range(from: first, to: nil, condition: condition)
  }

  /// Decides about the answer to `ask`; `offset` is how far the file is certain. `isRepeated`: the last answer held several
  /// parts.
  static func decide(
    _ job: JobRecord, offset: Int64, ask: Ask, head: ResponseHead, finalURL: String, isRepeated: Bool = false
  ) -> Decision {
    if case .contradicting(let what) = head.contentLength {
      return .again(.whole, .server("what it says about its length can't be relied on: \(what)"))
    }
    if case .other(let coding) = head.transferCoding {
      return .fail(
        TransferFailure(
          .hostileResponse, status: head.status,
          detail: "the server sends the transfer coding \(Printable.text(coding, limit: 40)), which wasn't asked for"))
    }
    let entity = Self.entity(of: head, finalURL: finalURL)
    if let coding = entity.coding, head.status == 200 || head.status == 206 {
      if !job.history.triedNoTransform { return .again(.whole, .coded) }
      // It may be what is wanted (a file that is compressed by itself), but only a digest can tell.
      if head.status == 200, job.specification.digest == nil {
        return .fail(
          TransferFailure(
            .hostileResponse, status: head.status,
            cause: .digestNeeded(
              why: "the server sends it in the coding \(Printable.text(coding, limit: 20)), which wasn't asked for")))
      }
    }
    switch head.status {
    case 206 where isMultipart(head) && ask != .whole: return severalParts(job, ask, isRepeated)
    case 206: return partialContent(job, offset, ask, head, entity)
    // To a request without a condition neither is an answer.
    case 412 where ask == .whole: return .again(.whole, .server("412 although nothing was required"))
    case 416 where ask == .whole: return .again(.whole, .server("416 although no range was asked for"))
    // Some compare it with something else than what they tell: the tag of an answer has the last word.
    case 412:
      guard ask.isIfMatch, let next = ask.withNextCondition else { return .restart }
      return .again(next, .dropsRange)
    case 416: return unsatisfied(job, offset, ask, head)
    default: return whole(job, offset, ask, head, entity)
    }
  }

  static func entity(of head: ResponseHead, finalURL: String) -> Entity {
    let tags = head.values("etag")
    // Two tags that differ identify nothing.
    let tag = tags.allSatisfy { $0 == tags[0] } ? tags.first.flatMap { EntityTag($0) } : nil
    return Entity(
      strongTag: tag.flatMap { $0.isWeak ? nil : $0.text }, weakTag: tag.flatMap { $0.isWeak ? $0.text : nil },
      lastModified: EntityTag.usableLastModified(in: head),
      total: total(of: head),
      coding: head.contentCoding, finalURL: finalURL,
      reprDigest: DigestField(head.values("repr-digest"))?.strongest)
  }

  /// Bytes of the whole file, as far as the answer says.
  static func total(of head: ResponseHead) -> Int64? {
    head.status == 206 ? range(of: head)?.total : head.contentLength.value
  }

  private static func range(of head: ResponseHead) -> (first: Int64, last: Int64, total: Int64?)? {
    let values = head.values("content-range")
    guard values.count == 1, case .bytes(let first, let last, let total)? = ContentRange(values[0]) else { return nil }
    return (first, last, total)
  }

  /// To one range that is no answer, with any content (RFC 9110, 15.3.7.2): nothing of it is a byte of the file. Asked
  /// once more otherwise; then all of it is asked for.
  private static func severalParts(_ job: JobRecord, _ ask: Ask, _ isRepeated: Bool) -> Decision {
    guard !isRepeated, case .range(let first, let last, let condition) = ask else {
      return .again(.whole, .severalParts)
    }
    let total = job.specification.exactSize ?? job.partial?.entity.total
    return .again(.range(from: first, to: last ?? total.map { $0 - 1 }, condition: condition), .severalParts)
  }

  private static func isMultipart(_ head: ResponseHead) -> Bool {
    head.values("content-type").contains {
      let type = $0.lowercased()
      return type.hasPrefix("multipart/byteranges") || type.hasPrefix("multipart/x-byteranges")
    }
  }

  private static func partialContent(
    _ job: JobRecord, _ offset: Int64, _ ask: Ask, _ head: ResponseHead, _ entity: Entity
  ) -> Decision {
    func fault(_ what: String) -> Decision { .again(.whole, .server(what)) }
    guard let range = range(of: head) else { return fault("206 without one usable Content-Range") }
    let wanted: (from: Int64, to: Int64?, condition: Condition)
    switch ask {
    case .whole: return fault("206 although no range was asked for")
    case .probe: return probed(job, offset, range, entity)
    case .range(let from, let to, let condition): wanted = (from, to, condition)
    }
    // Without `If-Range` another version's bytes may come, which their tag shows.
    if !isIdentified(job), !wanted.condition.isIfRange, let tag = job.partial?.entity.strongTag,
      let other = entity.strongTag, tag != other
    {
      return .restart
    }
    let expected = job.specification.exactSize ?? job.partial?.entity.total
    guard range.first == wanted.from else { return fault("206 from byte \(range.first) instead of \(wanted.from)") }
    if let total = range.total, let expected, total != expected {
      return fault("206 of \(total) bytes in all instead of \(expected)")
    }
    guard let last = wanted.to ?? (range.total ?? expected).map({ $0 - 1 }) else {
      return fault("206 of a file of unknown length")
    }
    let isLess = range.last < last && isUseful(end: range.last + 1, job, offset, from: wanted.from)
    guard range.last == last || isLess else { return fault("206 up to byte \(range.last) instead of \(last)") }
    let end = isLess ? range.last + 1 : nil
    if let length = head.contentLength.value, length != range.last - range.first + 1 {
      return fault("206 of \(length) bytes for a range of \(range.last - range.first + 1)")
    }
    guard wanted.from == offset - comparedBytes(job, offset: offset) else {
      return fault("206 without the bytes that show whether it is the same file")
    }
    // It ends before what is there does.
    if range.last + 1 < offset { return .restart }
    guard let kept = job.partial?.entity else { return .append(entity, end: end) }
    guard entity.coding == kept.coding || job.specification.chunks != nil else { return fault("206 in another coding") }
    if job.specification.chunks != nil {
      // The digests of its chunks say which of its bytes are right.
    } else if let old = kept.reprDigest, let new = entity.reprDigest, old.algorithm == new.algorithm, old != new {
      return fault("206 of another representation: its digest differs")
    }
    if isIdentified(job) {
      // The digest decides.
    } else if !Self.isSamePlace(kept.finalURL, entity.finalURL) {
      return .again(.whole, .elsewhere)
    } else if let tag = kept.strongTag {
      guard tag == entity.strongTag else { return fault("206 without the validator that was asked for") }
    } else {
      guard let date = kept.lastModified, head.first("last-modified") == date else {
        return fault("206 without the validator that was asked for")
      }
      // Dates have seconds, and a file that is restored keeps its date.
      if let tag = entity.weakTag ?? entity.strongTag, let known = kept.weakTag, tag != known {
        return fault("206 of another version: its entity tag differs")
      }
    }
    var merged = kept
    merged.total = kept.total ?? range.total
    merged.reprDigest = kept.reprDigest ?? entity.reprDigest
    return .append(merged, end: end)
  }

  /// A server may send less than it is asked for (RFC 9110, 15.3.7), where that brings something: another byte, or a chunk
  /// that can be checked.
  private static func isUseful(end: Int64, _ job: JobRecord, _ offset: Int64, from first: Int64) -> Bool {
    guard let chunks = job.specification.chunks else { return end > offset }
    return chunks.range(of: Int(first / Int64(chunks.chunkSize))).upperBound <= end
  }

  /// But for the query: addresses that are signed anew for each request lead to the same file.
  private static func isSamePlace(_ first: String, _ second: String) -> Bool {
    first.utf8.prefix { $0 != UInt8(ascii: "?") }.elementsEqual(second.utf8.prefix { $0 != UInt8(ascii: "?") })
  }

  private static func probed(
    _ job: JobRecord, _ offset: Int64, _ range: (first: Int64, last: Int64, total: Int64?), _ entity: Entity
  ) -> Decision {
    guard range.first == 0, range.last == 0, let total = range.total else {
      return .again(.whole, .server("206 to a probe without the length"))
    }
    // That all is there is shown by a length which comes with the validator of what is there.
    if job.specification.exactSize == nil, let kept = job.partial?.entity, kept.total == nil, total == offset,
      let tag = kept.strongTag, tag == entity.strongTag, kept.coding == entity.coding,
      isSamePlace(kept.finalURL, entity.finalURL)
    {
      return .complete
    }
    return check(total: total, job, offset)
  }

  /// The server named the length without giving bytes.
  private static func check(total: Int64, _ job: JobRecord, _ offset: Int64) -> Decision {
    if let exact = job.specification.exactSize, total != exact {
      return .fail(sizeMismatch(total, exact, status: 416))
    }
    let expected = job.specification.exactSize ?? job.partial?.entity.total
    // Without a length from anyone else, that no more comes doesn't prove that this was all.
    guard let known = expected ?? (knownDigest(job) == nil ? nil : total) else { return .restart }
    return total == known && total == offset ? .complete : .restart
  }

  private static func unsatisfied(_ job: JobRecord, _ offset: Int64, _ ask: Ask, _ head: ResponseHead) -> Decision {
    let values = head.values("content-range")
    guard values.count == 1, case .unsatisfied(let total)? = ContentRange(values[0]), let total else {
      // 416 alone is never success. To a probe there is nothing left to ask.
      return ask == .probe || ask == .whole ? .restart : .again(.probe, .probe)
    }
    // No length is known yet: the first byte comes with it, and with the validators.
    if total == offset, ask != .probe, ask != .whole, job.specification.exactSize == nil,
      job.partial?.entity.total == nil, job.partial?.entity.strongTag != nil, knownDigest(job) == nil
    {
      return .again(.probe, .probe)
    }
    return check(total: total, job, offset)
  }

  private static func whole(
    _ job: JobRecord, _ offset: Int64, _ ask: Ask, _ head: ResponseHead, _ entity: Entity
  ) -> Decision {
    if let exact = job.specification.exactSize, let length = entity.total, length != exact, entity.coding == nil {
      return .fail(sizeMismatch(length, exact, status: head.status))
    }
    if let wanted = job.specification.digest, entity.coding == nil,
      let told = DigestField(head.values("repr-digest"))?.known.first(where: { $0.algorithm == wanted.algorithm }),
      told != wanted
    {
      if job.history.digestMismatches == 0 { return .again(.whole, .stale) }
      return .fail(
        TransferFailure(
          .digestMismatch, status: head.status,
          detail: "the server says that it has another file: \(wanted.algorithm.rawValue) is \(told.hex), expected was "
            + wanted.hex))
    }
    // Not all of it, whatever the status says.
    if let range = range(of: head), range.first != 0 || range.total.map({ $0 != range.last + 1 }) ?? false {
      return .again(.whole, .server("200 with bytes \(range.first) to \(range.last) of the file alone"))
    }
    let kept = job.partial?.entity
    if let kept, offset > 0, let wrong = contradiction(kept, entity, job) { return .again(.whole, .server(wrong)) }
    if let kept, isSamePlace(kept.finalURL, entity.finalURL) || isIdentified(job), isSameVersion(kept, entity),
      !saysRangeless(head), let next = ask.withNextCondition
    {
      return .again(next, .dropsRange)
    }
    let changed = kept.map { $0.strongTag != entity.strongTag || $0.lastModified != entity.lastModified } ?? false
    if ask.isConditional, changed, offset >= worthABareRange, knownDigest(job) != nil, !job.history.triedBareRange,
      kept?.total == entity.total, kept?.strongTag == nil || kept?.strongTag != entity.strongTag
    {
      return .again(.range(from: offset, to: nil, condition: .unbound), .bareRange)
    }
    return .fresh(entity, validatorChanged: offset > 0 && changed)
  }

  /// A strong tag names the same bytes (RFC 9110, 8.8.1), and of those there are some. A server that says so again and again means it:
  /// then it gives its tags out wrongly, and what it has now counts.
  private static func contradiction(_ kept: Entity, _ entity: Entity, _ job: JobRecord) -> String? {
    guard let tag = kept.strongTag, tag == entity.strongTag, kept.coding == entity.coding, let before = kept.total,
      before > 0, entity.total == 0, job.history.fruitlessAttempts < 2
    else { return nil }
    return "200 without a byte under the entity tag of a file of \(before)"
  }

  /// As far as validators tell.
  private static func isSameVersion(_ kept: Entity, _ entity: Entity) -> Bool {
    guard kept.coding == entity.coding, kept.total == nil || entity.total == nil || kept.total == entity.total else {
      return false
    }
    if kept.strongTag != nil || entity.strongTag != nil { return kept.strongTag == entity.strongTag }
    return kept.lastModified != nil && kept.lastModified == entity.lastModified && kept.weakTag == entity.weakTag
  }

  private static func sizeMismatch(_ found: Int64, _ declared: Int64, status: Int) -> TransferFailure {
    TransferFailure(
      .sizeMismatch, status: status, detail: "the server has \(found) bytes, the download declares \(declared)")
  }

  /// Evidence that isn't a failed precondition: the origin has no ranges.
  static func provesRangeless(ask: Ask, head: ResponseHead) -> Bool {
    if saysRangeless(head) { return true }
    if case .range(_, _, .unbound) = ask { return head.status == 200 }
    return false
  }

  private static func saysRangeless(_ head: ResponseHead) -> Bool {
    head.first("accept-ranges")?.lowercased() == "none"
  }
}
