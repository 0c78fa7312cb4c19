import AssetModel
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
      app: "app", identifier: "file", url: "https://a.example/file", transferClass: .visible, isEssential: exact,
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
    case .append: "append"
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
      case .probe: ask == .probe ? "probe" : "again"
      }
    case .fail(let failure): failure.reason.rawValue
    }
  }

  static let conditional = ResumePolicy.Ask.range(from: offset, to: nil, condition: "\"v1\"")
  static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  static let dated = ResumePolicy.Ask.range(from: offset, to: nil, condition: date)
  static func dated(_ tag: String?) -> ResponseHead {
    head(206, [good, ("last-modified", date)] + (tag.map { [("etag", $0)] } ?? []))
  }
  static let bare = ResumePolicy.Ask.range(from: offset, to: nil, condition: nil)
  static let good = ("content-range", "bytes \(offset)-\(total - 1)/\(total)")

  @Test(arguments: [
    // What is known about the partial decides what is asked.
    (job(), conditional),
    (
      job(tag: nil, date: "Sun, 06 Nov 1994 08:49:37 GMT"),
      .range(from: offset, to: nil, condition: "Sun, 06 Nov 1994 08:49:37 GMT")
    ),
    (job(tag: nil, digest: digest), bare),
    (job(tag: nil), .whole),
    (job(coding: "gzip"), .whole),
  ])
  func asks(job: JobRecord, expected: ResumePolicy.Ask) {
    #expect(ResumePolicy.ask(job, offset: Self.offset, originIsRangeless: false) == expected)
    #expect(ResumePolicy.ask(job, offset: Self.offset, originIsRangeless: true) == .whole)
    #expect(ResumePolicy.ask(job, offset: 0, originIsRangeless: false) == .whole)
  }

  static let rows: [(name: String, job: JobRecord, ask: ResumePolicy.Ask, head: ResponseHead, expected: String)] = [
    ("206 without a range", job(), .whole, head(206, [good, ("etag", "\"v1\"")]), "fault"),
    ("206 of the same weak tag", job(tag: nil, weak: "\"w1\"", date: date), dated, dated("W/\"w1\""), "append"),
    ("206 of another weak tag", job(tag: nil, weak: "\"w1\"", date: date), dated, dated("W/\"w2\""), "fault"),
    ("206 of a strong tag instead", job(tag: nil, weak: "\"w1\"", date: date), dated, dated("\"s1\""), "fault"),
    ("206 without its weak tag", job(tag: nil, weak: "\"w1\"", date: date), dated, dated(nil), "append"),
    (
      "206 of another weak tag, with a digest", job(tag: nil, weak: "\"w1\"", date: date, digest: digest), dated,
      dated("W/\"w2\""), "append"
    ),
    ("206 that fits", job(), conditional, head(206, [good, ("etag", "\"v1\"")]), "append"),
    (
      "206 from another byte", job(), conditional,
      head(206, [("content-range", "bytes 0-\(total - 1)/\(total)"), ("etag", "\"v1\"")]), "fault"
    ),
    (
      "206 to another byte", job(), conditional,
      head(206, [("content-range", "bytes \(offset)-\(total - 2)/\(total)"), ("etag", "\"v1\"")]), "fault"
    ),
    (
      "206 of another total", job(), conditional,
      head(206, [("content-range", "bytes \(offset)-\(total)/\(total + 1)"), ("etag", "\"v1\"")]), "fault"
    ),
    (
      "206 with a wrong length", job(), conditional, head(206, [good, ("etag", "\"v1\""), ("content-length", "5")]),
      "fault"
    ),
    ("206 without Content-Range", job(), conditional, head(206, [("etag", "\"v1\"")]), "fault"),
    ("206 with two", job(), conditional, head(206, [good, good, ("etag", "\"v1\"")]), "fault"),
    ("206 of another version", job(), conditional, head(206, [good, ("etag", "\"v2\"")]), "fault"),
    (
      "206 of another version, digest known", job(digest: digest), conditional, head(206, [good, ("etag", "\"v2\"")]),
      "append"
    ),
    ("206 without validator", job(), conditional, head(206, [good]), "fault"),
    ("206 without validator, digest known", job(digest: digest), conditional, head(206, [good]), "append"),
    (
      "206 in another coding", job(noTransform: true), conditional,
      head(206, [good, ("etag", "\"v1\""), ("content-encoding", "gzip")]), "fault"
    ),
    (
      "200 to a range, same version", job(), conditional,
      head(200, [("etag", "\"v1\""), ("content-length", "\(total)")]), "fresh"
    ),
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
      "a transfer coding that nobody undoes", job(), .whole, head(200, [("transfer-encoding", "gzip, chunked")]),
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
      let part = ("content-range", "bytes \(Self.offset)-\(Self.offset + 9)/*")
      #expect(Self.decide(job, Self.conditional, Self.head(206, [part, ("etag", "\"v1\"")])) == "fault")
      let end = ("content-range", "bytes */\(Self.offset)")
      #expect(Self.decide(job, Self.conditional, Self.head(416, [end])) == (digest == nil ? "probe" : "complete"))
      if digest != nil { continue }
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
        Self.job(digest: digest), offset: Self.offset, ask: Self.conditional,
        head: Self.head(206, [Self.good, ("etag", "\"v1\"")]), finalURL: url)
      switch decision {
      case .append: #expect(expected == "append")
      case .again(.whole, .elsewhere): #expect(expected == "elsewhere")
      default: Issue.record("\(decision)")
      }
    }
  }

  /// Whatever is said, bytes are appended only behind a 206 for exactly the range that was asked for, and only when a
  /// validator or a digest ties both parts together.
  @Test func neverSplices() {
    var random = SplitMix(20_261_121)
    func pick<T>(_ choices: [T]) -> T { choices[Int(random.next() % UInt64(choices.count))] }
    for _ in 0..<20_000 {
      let job = Self.job(
        tag: pick([nil, "\"v1\""]), date: pick([nil, "Sun, 06 Nov 1994 08:49:37 GMT"]),
        digest: pick([nil, Self.digest]),
        exact: pick([false, true]), bare: pick([false, true]))
      let ask = pick([
        ResumePolicy.Ask.whole, .probe, Self.bare, Self.conditional,
        .range(from: Self.offset, to: Self.offset + 9, condition: nil),
      ])
      var fields: [(String, String)] = []
      for _ in 0..<Int(random.next() % 5) {
        fields.append(
          pick([
            Self.good, ("content-range", "bytes 0-9/10"), ("content-range", "bytes */\(Self.total)"),
            ("content-range", "x"),
            ("content-range", "bytes \(Self.offset)-\(Self.offset + 9)/\(Self.total)"), ("etag", "\"v1\""),
            ("etag", "W/\"v1\""),
            ("etag", "\"v2\""), ("content-length", "\(Self.total - Self.offset)"), ("content-length", "10"),
            ("content-encoding", "br"), ("transfer-encoding", "chunked"),
            ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
          ]))
      }
      let head = Self.head(pick([200, 206, 412, 416]), fields)
      let url = pick(["https://a.example/file", "https://a.example/other"])
      guard case .append = ResumePolicy.decide(job, offset: Self.offset, ask: ask, head: head, finalURL: url) else {
        continue
      }
      #expect(url == job.partial?.entity.finalURL || job.specification.digest != nil)
      #expect(head.status == 206)
      guard case .range(let from, let to, _) = ask,
        case .bytes(let first, let last, let total)? = ContentRange(head.first("content-range") ?? "")
      else {
        Issue.record("appended without a range: \(head)")
        continue
      }
      #expect(first == from && last == to ?? Self.total - 1 && total == Self.total)
      let kept = job.partial?.entity
      let isTied =
        kept?.strongTag != nil
        ? head.first("etag") == kept?.strongTag
        : kept?.lastModified != nil && head.first("last-modified") == kept?.lastModified
      #expect(isTied || job.specification.digest != nil)
    }
  }
}
