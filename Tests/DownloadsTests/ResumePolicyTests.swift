import AssetModel
import Basics
import Testing

@testable import Downloads

/// The table of the resume rules, row by row, and properties over everything that a server could say.
@Suite(.timeLimit(.minutes(2))) struct ResumePolicyTests {
  static let total: Int64 = 20 << 20
  static let offset: Int64 = 9 << 20
  static let digest = ContentDigest(.sha256, bytes: [UInt8](repeating: 7, count: 32))

  static func job(
    tag: String? = "\"v1\"", weak: String? = nil, date: String? = nil, digest: ContentDigest? = nil,
    exact: Bool = false,
    coding: String? = nil,
    bare: Bool = false, noTransform: Bool = false
  ) -> JobRecord {
    let specification = DownloadSpecification(
      app: "app", identifier: "file", url: "https://a.example/file", transferClass: .background, isEssential: exact,
      declaredSize: exact ? total : nil, digest: digest, directory: "/tmp", fileName: "file")
    var history = JobHistory()
    history.triedBareRange = bare
    history.triedNoTransform = noTransform
    let entity = Entity(
      strongTag: tag, weakTag: weak, lastModified: date, total: total, coding: coding,
      finalURL: "https://a.example/file")
    return JobRecord(
      id: JobID(1), specification: specification,
      partial: Partial(
        stagingName: "x", entity: entity, checkpoints: [Partial.Checkpoint(offset: offset, tailDigest: [])],
        bootIdentifier: "", device: 0, inode: 0),
      history: history, enqueued: StoredMoment(bootIdentifier: "", boot: 0, wall: 0))
  }

  static func head(_ status: Int, _ fields: [(String, String)]) -> ResponseHead {
    ResponseHead(status: status, fields: fields.map { ResponseHead.Field(name: $0.0, value: $0.1) })
  }

  static func decide(_ job: JobRecord, _ ask: ResumePolicy.Ask, _ head: ResponseHead) -> String {
    switch ResumePolicy.decide(job, offset: offset, ask: ask, head: head, finalURL: "https://a.example/file") {
    case .append(_, nil): "append"
    case .append(_, let end?): "append up to \(end)"
    case .fresh(_, let changed): changed ? "fresh, changed" : "fresh"
    case .complete: "complete"
    case .restart: "restart"
    case .again(let ask, let fault):
      switch fault {
      case .server: "fault"
      case .bareRange: "bare range"
      case .coded: "coded"
      case .stale: "stale"
      case .elsewhere: "elsewhere"
      case .endless: "endless"
      case .misdirected: "misdirected"
      case .dropsRange:
        switch ask {
        case .range(_, _, .ifMatch): "If-Match"
        case .range(_, _, .unbound): "compared"
        default: "?"
        }
      case .severalParts: ask == .whole ? "whole" : "once more"
      case .probe: ask == .probe ? "probe" : "again"
      }
    case .fail(let failure): failure.reason.rawValue
    }
  }

  /// Where no digest checks the file, what is there is compared with what comes.
  static let first = offset - ResumePolicy.comparedLength
  static let conditional = ResumePolicy.Ask.range(from: first, to: nil, condition: .ifRange("\"v1\""))
  static let identified = ResumePolicy.Ask.range(from: offset, to: nil, condition: .ifRange("\"v1\""))
  static let matched = ResumePolicy.Ask.range(from: first, to: nil, condition: .ifMatch("\"v1\""))
  static let compared = ResumePolicy.Ask.range(from: first, to: nil, condition: .unbound)
  static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  static let dated = ResumePolicy.Ask.range(from: first, to: nil, condition: .ifRange(date))
  static let datedIdentified = ResumePolicy.Ask.range(from: offset, to: nil, condition: .ifRange(date))
  static func dated(_ tag: String?, _ range: (String, String) = good) -> ResponseHead {
    head(206, [range, ("last-modified", date)] + (tag.map { [("etag", $0)] } ?? []))
  }
  static let bare = ResumePolicy.Ask.range(from: offset, to: nil, condition: .unbound)
  static let good = ("content-range", "bytes \(first)-\(total - 1)/\(total)")
  static let rest = ("content-range", "bytes \(offset)-\(total - 1)/\(total)")

  @Test(arguments: [
    // What is known about the partial decides what is asked.
    (job(), conditional),
    (
      job(tag: nil, date: "Sun, 06 Nov 1994 08:49:37 GMT"),
      dated
    ),
    (job(digest: digest), identified),
    (job(tag: nil, digest: digest), bare),
    (job(tag: nil), .whole),
    (job(coding: "gzip"), .whole),
  ])
  func asks(job: JobRecord, expected: ResumePolicy.Ask) {
    #expect(ResumePolicy.ask(job, offset: Self.offset, originIsRangeless: false) == expected)
    // An origin's memory is of another file: what is much isn't given up for it.
    #expect(ResumePolicy.ask(job, offset: Self.offset, originIsRangeless: true) == expected)
    #expect(ResumePolicy.ask(job, offset: ResumePolicy.worthAsking - 1, originIsRangeless: true) == .whole)
    #expect(ResumePolicy.ask(job, offset: 0, originIsRangeless: false) == .whole)
  }

  static let rows: [(name: String, job: JobRecord, ask: ResumePolicy.Ask, head: ResponseHead, expected: String)] = [
    ("206 without a range", job(), .whole, head(206, [good, ("etag", "\"v1\"")]), "fault"),
    ("206 of the same weak tag", job(tag: nil, weak: "\"w1\"", date: date), dated, dated("W/\"w1\""), "append"),
    ("206 of another weak tag", job(tag: nil, weak: "\"w1\"", date: date), dated, dated("W/\"w2\""), "fault"),
    ("206 of a strong tag instead", job(tag: nil, weak: "\"w1\"", date: date), dated, dated("\"s1\""), "fault"),
    ("206 without its weak tag", job(tag: nil, weak: "\"w1\"", date: date), dated, dated(nil), "append"),
    (
      "206 of another weak tag, with a digest", job(tag: nil, weak: "\"w1\"", date: date, digest: digest),
      datedIdentified,
      dated("W/\"w2\"", rest), "append"
    ),
    ("206 that fits", job(), conditional, head(206, [good, ("etag", "\"v1\"")]), "append"),
    (
      "206 from another byte", job(), conditional,
      head(206, [("content-range", "bytes 0-\(total - 1)/\(total)"), ("etag", "\"v1\"")]), "fault"
    ),
    (
      "206 of less than was asked for", job(), conditional,
      head(206, [("content-range", "bytes \(first)-\(total - 2)/\(total)"), ("etag", "\"v1\"")]),
      "append up to \(total - 1)"
    ),
    (
      "206 of one new byte", job(), conditional,
      head(206, [("content-range", "bytes \(first)-\(offset)/\(total)"), ("etag", "\"v1\"")]),
      "append up to \(offset + 1)"
    ),
    (
      "206 of no new byte", job(), conditional,
      head(206, [("content-range", "bytes \(first)-\(offset - 1)/\(total)"), ("etag", "\"v1\"")]), "fault"
    ),
    (
      "206 of less, of another version", job(), conditional,
      head(206, [("content-range", "bytes \(first)-\(offset)/\(total)"), ("etag", "\"v2\"")]), "fault"
    ),
    (
      "206 of less, with a digest of that alone", job(), conditional,
      head(
        206,
        [
          ("content-range", "bytes \(first)-\(offset)/\(total)"), ("etag", "\"v1\""),
          ("content-digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"),
        ]), "append up to \(offset + 1)"
    ),
    (
      "206 to more than was asked for", job(), conditional,
      head(206, [("content-range", "bytes \(first)-\(total)/\(total + 1)"), ("etag", "\"v1\"")]), "fault"
    ),
    (
      "206 of another total", job(), conditional,
      head(206, [("content-range", "bytes \(first)-\(total)/\(total + 1)"), ("etag", "\"v1\"")]), "fault"
    ),
    (
      "206 with a wrong length", job(), conditional, head(206, [good, ("etag", "\"v1\""), ("content-length", "5")]),
      "fault"
    ),
    ("206 without Content-Range", job(), conditional, head(206, [("etag", "\"v1\"")]), "fault"),
    ("206 with two", job(), conditional, head(206, [good, good, ("etag", "\"v1\"")]), "fault"),
    ("206 of another version", job(), conditional, head(206, [good, ("etag", "\"v2\"")]), "fault"),
    (
      "206 of another version, digest known", job(digest: digest), identified, head(206, [rest, ("etag", "\"v2\"")]),
      "append"
    ),
    ("206 without validator", job(), conditional, head(206, [good]), "fault"),
    ("206 without validator, digest known", job(digest: digest), identified, head(206, [rest]), "append"),
    (
      "206 in another coding", job(noTransform: true), conditional,
      head(206, [good, ("etag", "\"v1\""), ("content-encoding", "gzip")]), "fault"
    ),
    (
      "200 to a range, same version", job(), conditional,
      head(200, [("etag", "\"v1\""), ("content-length", "\(total)")]), "If-Match"
    ),
    (
      "the same to If-Match", job(), matched, head(200, [("etag", "\"v1\""), ("content-length", "\(total)")]),
      "compared"
    ),
    ("the same to a range alone", job(), compared, head(200, [("etag", "\"v1\"")]), "fresh"),
    (
      "200 to a range, same version, says that there are none", job(), conditional,
      head(200, [("etag", "\"v1\""), ("accept-ranges", "None")]), "fresh"
    ),
    (
      "200 to a range, same version of another length", job(), conditional,
      head(200, [("etag", "\"v1\""), ("content-length", "\(total - 1)")]), "fresh"
    ),
    (
      "200 to a range, same version, and not a byte of it", job(), conditional,
      head(200, [("etag", "\"v1\""), ("content-length", "0")]), "fault"
    ),
    (
      "200 to a range, another version, and not a byte of it", job(), conditional,
      head(200, [("etag", "\"v2\""), ("content-length", "0")]), "fresh, changed"
    ),
    (
      "200 to a range, same date", job(tag: nil, date: date), dated,
      head(200, [("last-modified", date), ("date", "Sun, 06 Nov 1994 09:49:37 GMT")]), "compared"
    ),
    ("412 to If-Match", job(), matched, head(412, []), "compared"),
    ("206 to If-Match", job(), matched, head(206, [good, ("etag", "\"v1\"")]), "append"),
    ("206 to If-Match of another version", job(), matched, head(206, [good, ("etag", "\"v2\"")]), "restart"),
    ("206 to a range alone", job(), compared, head(206, [good, ("etag", "\"v1\"")]), "append"),
    ("206 to a range alone, another version", job(), compared, head(206, [good, ("etag", "\"v2\"")]), "restart"),
    (
      "206 to a range alone, another version of another length", job(), compared,
      head(206, [("content-range", "bytes \(first)-\(total)/\(total + 1)"), ("etag", "\"v2\"")]), "restart"
    ),
    ("206 to a range alone, of no version", job(), compared, head(206, [good]), "fault"),
    ("206 without the end of what is there", job(), identified, head(206, [rest, ("etag", "\"v1\"")]), "fault"),
    ("several parts", job(), conditional, parts, "once more"),
    ("several parts to a probe", job(), .probe, parts, "whole"),
    ("several parts to everything", job(), .whole, parts, "fault"),
    (
      "200 to a range, another version", job(), conditional,
      head(200, [("etag", "\"v2\""), ("content-length", "\(total)")]), "fresh, changed"
    ),
    (
      "200, another validator, digest known", job(digest: digest), conditional,
      head(200, [("etag", "\"v2\""), ("content-length", "\(total)")]), "bare range"
    ),
    (
      "the same once more", job(digest: digest, bare: true), conditional,
      head(200, [("etag", "\"v2\""), ("content-length", "\(total)")]), "fresh, changed"
    ),
    ("200 of another length, exact", job(exact: true), .whole, head(200, [("content-length", "5")]), "sizeMismatch"),
    ("200 of another length, advice", job(), .whole, head(200, [("content-length", "5")]), "fresh, changed"),
    ("412", job(), conditional, head(412, []), "restart"),
    ("412 to nothing", job(), .whole, head(412, []), "fault"),
    ("416 to nothing", job(), .whole, head(416, [("content-range", "bytes */\(total)")]), "fault"),
    ("416 to nothing, without a word", job(), .whole, head(416, []), "fault"),
    ("416 at the end", job(), conditional, head(416, [("content-range", "bytes */\(offset)")]), "restart"),
    ("416 of another length", job(), conditional, head(416, [("content-range", "bytes */\(total + 1)")]), "restart"),
    (
      "416 of another length, exact", job(exact: true), conditional,
      head(416, [("content-range", "bytes */\(total + 1)")]), "sizeMismatch"
    ),
    ("416 without a word", job(), conditional, head(416, []), "probe"),
    ("416 without a word to the probe", job(), .probe, head(416, []), "restart"),
    ("coded although identity was asked", job(), .whole, head(200, [("content-encoding", "gzip")]), "coded"),
    ("lengths that contradict", job(), .whole, head(200, [("content-length", "5"), ("content-length", "6")]), "fault"),
    ("no coding, said so", job(), .whole, head(200, [("content-encoding", "")]), "fresh, changed"),
    ("identity, said so", job(), .whole, head(200, [("content-encoding", "Identity")]), "fresh, changed"),
    (
      "no coding, and then one", job(), .whole, head(200, [("content-encoding", ""), ("content-encoding", "br")]),
      "coded"
    ),
    ("chunked", job(), .whole, head(200, [("transfer-encoding", "Chunked")]), "fresh, changed"),
    (
      "a transfer coding that the client doesn't undo", job(), .whole,
      head(200, [("transfer-encoding", "gzip, chunked")]),
      "hostileResponse"
    ),
    (
      "the same in a part", job(), conditional, head(206, [good, ("etag", "\"v1\""), ("transfer-encoding", "gzip")]),
      "hostileResponse"
    ),
    (
      "length and chunked", job(), .whole, head(200, [("content-length", "5"), ("transfer-encoding", "chunked")]),
      "fault"
    ),
  ]

  /// With a field that such an answer must not have, and that would let its envelope pass for a part of the file.
  static let parts = head(206, [good, ("etag", "\"v1\""), ("content-type", "Multipart/ByteRanges; boundary=x")])

  @Test func severalPartsTwice() throws {
    for ask in [Self.conditional, .range(from: Self.first, to: Self.total - 1, condition: .unbound), .probe] {
      let decision = ResumePolicy.decide(
        Self.job(), offset: Self.offset, ask: ask, head: Self.parts, finalURL: "https://a.example/file",
        isRepeated: true)
      #expect(decision == .again(.whole, .severalParts))
    }
    guard
      case .again(let ask, _) = ResumePolicy.decide(
        Self.job(), offset: Self.offset, ask: Self.conditional, head: Self.parts, finalURL: "https://a.example/file")
    else { throw Unexpected("not asked again") }
    #expect(ask == .range(from: Self.first, to: Self.total - 1, condition: .ifRange("\"v1\"")), "with an end")
  }

  @Test func whatWorkedIsAskedFirst() {
    func ask(_ job: JobRecord, _ offset: Int64, _ remembered: RangeCondition?) -> ResumePolicy.Ask {
      ResumePolicy.ask(job, offset: offset, originIsRangeless: false, remembered: remembered)
    }
    #expect(ask(Self.job(), Self.offset, .ifMatch) == Self.matched)
    #expect(ask(Self.job(), Self.offset, .comparedAfterwards) == Self.compared)
    #expect(ask(Self.job(tag: nil, date: Self.date), Self.offset, .ifMatch) == Self.dated, "If-Match takes tags")
    #expect(ask(Self.job(digest: Self.digest), Self.offset, .comparedAfterwards) == Self.bare)
    // What would be compared from the first byte on is fetched instead; one byte more isn't.
    #expect(ask(Self.job(), ResumePolicy.comparedLength, nil) == .whole)
    #expect(
      ask(Self.job(), ResumePolicy.comparedLength + 1, nil) == .range(from: 1, to: nil, condition: .ifRange("\"v1\"")))
    #expect(
      ask(Self.job(digest: Self.digest), 1, nil) == .range(from: 1, to: nil, condition: .ifRange("\"v1\"")))
  }

  /// Whatever such a server says, there is an end to asking.
  @Test func everyLadderEnds() {
    for first in [Self.conditional, Self.matched, Self.compared, Self.dated, Self.identified] {
      var (ask, steps) = (first, 0)
      while let next = ask.withNextCondition { (ask, steps) = (next, steps + 1) }
      #expect(steps <= 2 && !ask.isConditional)
    }
  }

  @Test(arguments: rows.indices) func row(index: Int) {
    let row = Self.rows[index]
    #expect(Self.decide(row.job, row.ask, row.head) == row.expected, "\(row.name)")
  }

  @Test func completeOnlyWhereTheLengthIsWhatWeHave() {
    var job = Self.job()
    job.partial?.entity.total = Self.offset
    #expect(
      Self.decide(job, Self.conditional, Self.head(416, [("content-range", "bytes */\(Self.offset)")])) == "complete")
    #expect(Self.decide(job, .probe, Self.head(206, [("content-range", "bytes 0-0/\(Self.offset)")])) == "complete")
  }

  /// A file whose length was never told isn't complete because no more of it comes.
  @Test func anUnknownLengthIsNoLength() {
    for digest in [nil, Self.digest] {
      var job = Self.job(digest: digest)
      job.partial?.entity.total = nil
      let ask = digest == nil ? Self.conditional : Self.identified
      let part = ("content-range", "bytes \(digest == nil ? Self.first : Self.offset)-\(Self.offset + 9)/*")
      #expect(Self.decide(job, ask, Self.head(206, [part, ("etag", "\"v1\"")])) == "fault")
      let end = ("content-range", "bytes */\(Self.offset)")
      #expect(Self.decide(job, ask, Self.head(416, [end])) == (digest == nil ? "probe" : "complete"))
      if digest != nil { continue }
      // Its last bytes come, and no more: it is all there. Or it has become shorter.
      for (end, expected) in [(Self.offset, "append"), (Self.offset - 1, "restart")] {
        let range = ("content-range", "bytes \(Self.first)-\(end - 1)/\(end)")
        #expect(Self.decide(job, Self.conditional, Self.head(206, [range, ("etag", "\"v1\"")])) == expected)
      }
      // The first byte comes with a length, and with the validator of what is there or another one.
      let whole = ("content-range", "bytes 0-0/\(Self.offset)")
      #expect(Self.decide(job, .probe, Self.head(206, [whole, ("etag", "\"v1\"")])) == "complete")
      #expect(Self.decide(job, .probe, Self.head(206, [whole, ("etag", "\"v2\"")])) == "restart")
      #expect(Self.decide(job, .probe, Self.head(206, [whole])) == "restart")
      let longer = ("content-range", "bytes 0-0/\(Self.offset + 1)")
      #expect(Self.decide(job, .probe, Self.head(206, [longer, ("etag", "\"v1\"")])) == "restart")
      #expect(Self.decide(job, .probe, Self.head(416, [end])) == "restart")
    }
  }

  /// A validator is a place's own: the same one elsewhere says nothing. Signatures change from request to request.
  @Test(arguments: [
    ("https://a.example/file?signature=2", "append", "append"), ("https://a.example/other", "elsewhere", "append"),
    ("https://b.example/file", "elsewhere", "append"), ("http://a.example/file", "elsewhere", "append"),
  ])
  func redirectsThatLeadElsewhere(url: String, without: String, with: String) {
    for (digest, expected) in [(nil, without), (Self.digest, with)] as [(ContentDigest?, String)] {
      let decision = ResumePolicy.decide(
        Self.job(digest: digest), offset: Self.offset, ask: digest == nil ? Self.conditional : Self.identified,
        head: Self.head(206, [digest == nil ? Self.good : Self.rest, ("etag", "\"v1\"")]), finalURL: url)
      switch decision {
      case .append: #expect(expected == "append")
      case .again(.whole, .elsewhere): #expect(expected == "elsewhere")
      default: Issue.record("\(decision)")
      }
    }
  }

  /// Whatever is said, bytes are appended only behind a 206 for exactly the range that was asked for, and only when a
  /// validator or a digest ties both parts together; without a digest, only behind the end of what is there.
  @Test func neverSplices() {
    var random = SeededGenerator(seed: 20_261_121)
    func pick<T>(_ choices: [T]) -> T { choices[Int(random.next() % UInt64(choices.count))] }
    var appended = 0
    for _ in 0..<40_000 {
      let job = Self.job(
        tag: pick([nil, "\"v1\""]), date: pick([nil, "Sun, 06 Nov 1994 08:49:37 GMT"]),
        digest: pick([nil, Self.digest]),
        exact: pick([false, true]), bare: pick([false, true]))
      let ask = pick([
        ResumePolicy.Ask.whole, .probe, Self.bare, Self.conditional, Self.identified, Self.matched, Self.compared,
        Self.dated, Self.datedIdentified, .range(from: Self.offset, to: Self.offset + 9, condition: .unbound),
      ])
      var fields: [(String, String)] = []
      for _ in 0..<Int(random.next() % 5) {
        fields.append(
          pick([
            Self.good, Self.rest, ("content-range", "bytes 0-9/10"),
            ("content-type", "multipart/byteranges; boundary=x"), ("content-range", "bytes */\(Self.total)"),
            ("content-range", "x"),
            ("content-range", "bytes \(Self.offset)-\(Self.offset + 9)/\(Self.total)"), ("etag", "\"v1\""),
            ("etag", "W/\"v1\""),
            ("etag", "\"v2\""), ("content-length", "\(Self.total - Self.offset)"), ("content-length", "10"),
            ("content-encoding", "br"), ("transfer-encoding", "chunked"),
            ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
          ]))
      }
      let head = Self.head(pick([200, 206, 206, 206, 412, 416]), fields)
      let url = pick(["https://a.example/file", "https://a.example/other"])
      let decision = ResumePolicy.decide(
        job, offset: Self.offset, ask: ask, head: head, finalURL: url, isRepeated: pick([false, true]))
      if case .again(.range(let from, _, _), _) = decision {
        #expect(from == Self.offset || from == Self.first, "\(decision)")
      }
      guard case .append(_, let end) = decision else { continue }
      appended += 1
      #expect(url == job.partial?.entity.finalURL || job.specification.digest != nil)
      #expect(head.status == 206)
      guard case .range(let from, let to, _) = ask,
        case .bytes(let first, let last, let total)? = ContentRange(head.first("content-range") ?? "")
      else {
        Issue.record("appended without a range: \(head)")
        continue
      }
      let asked = to ?? Self.total - 1
      #expect(first == from && last == end.map { $0 - 1 } ?? asked && total == Self.total)
      if let end { #expect(end > Self.offset && end <= asked, "less than was asked for, and something") }
      let kept = job.partial?.entity
      let isTied =
        kept?.strongTag != nil
        ? head.first("etag") == kept?.strongTag
        : kept?.lastModified != nil && head.first("last-modified") == kept?.lastModified
      #expect(isTied || job.specification.digest != nil)
      #expect(from == (job.specification.digest == nil ? Self.first : Self.offset))
      #expect(head.first("content-type") == nil, "never an envelope")
    }
    #expect(appended > 100, "\(appended)")
  }
}
