import AssetModel
import Basics
import LinuxSystem
import Testing

@testable import Downloads

/// What follows from the head of an answer. How bytes are resumed is the table of `ResumePolicyTests`.
@Suite(.timeLimit(.minutes(1))) struct ResponseInterpreterTests {
  typealias Effect = ResponseInterpreter.Effect
  private static let record = ResumePolicyTests.job()
  private static let offset = ResumePolicyTests.offset
  private static let part = ResumePolicy.Ask.range(from: offset, to: nil, condition: .ifRange("\"v1\""))

  private static func url(_ text: String = "https://a.example/file") throws -> ParsedURL { try ParsedURL(text) }

  private static func interpreter(
    _ status: Int, _ fields: [(String, String)] = [], ask: ResumePolicy.Ask = .whole, start: Int64 = 0,
    record: JobRecord = record, chunks: ResponseInterpreter.Chunks? = nil, mayBeRangeless: Bool = false,
    hasAnswered: Bool = false, prepare: (inout RequestState) -> Void = { _ in }
  ) throws -> ResponseInterpreter {
    var request = RequestState(ask: ask, url: try url())
    prepare(&request)
    return ResponseInterpreter(
      head: ResumePolicyTests.head(status, fields), request: request, start: start, offset: start, chunks: chunks,
      rules: HostRules(), wall: 1_700_000_000, known: nil, hasAnswered: hasAnswered, record: record,
      cookies: CookieJar(), mayBeRangeless: mayBeRangeless)
  }

  private static func chunks(arrived: Int64 = 0, connections: Int = 1, other: Bool = false)
    -> ResponseInterpreter.Chunks
  { ResponseInterpreter.Chunks(arrivedBytes: arrived, connections: connections, hasAnotherSource: other) }

  @Test func aRedirectIsFollowedAndItsCookieKept() throws {
    var interpreter = try Self.interpreter(302, [("location", "/b"), ("set-cookie", "a=1; Path=/")])
    guard case .follow(let url, let drops, _, let wait)? = interpreter.plan() else { throw Unexpected("not followed") }
    #expect(url.text == "https://a.example/b" && !drops && wait == .zero)
    #expect(interpreter.cookies != CookieJar() && interpreter.effects.isEmpty)
  }

  @Test func aRedirectWithBytesBeyondASCIILeadsWhereItSays() throws {
    var interpreter = try Self.interpreter(302)
    var head = ResumePolicyTests.head(302, [])
    head.fields = [.init(name: "location", value: "/\u{fffd}x?\u{fffd}", bytes: [0x2f, 0xe9, 0x78, 0x3f, 0xff])]
    interpreter = ResponseInterpreter(
      head: head, request: interpreter.request, start: 0, offset: 0, chunks: nil, rules: HostRules(), wall: 0,
      known: nil, hasAnswered: false, record: Self.record, cookies: CookieJar(), mayBeRangeless: false)
    guard case .follow(let url, _, _, _)? = interpreter.plan() else { throw Unexpected("not followed") }
    #expect(url.text == "https://a.example/%E9x?%FF")
  }

  @Test func aRedirectMayAskForOneWaitAndNoMore() throws {
    for honoured in [false, true] {
      var record = Self.record
      record.history.honouredRedirect = honoured
      var interpreter = try Self.interpreter(307, [("location", "/b"), ("retry-after", "30")], record: record)
      guard case .follow(_, _, _, let wait)? = interpreter.plan() else { throw Unexpected("not followed") }
      #expect(wait == (honoured ? .zero : .seconds(30)) && interpreter.record.history.honouredRedirect)
    }
  }

  @Test(arguments: [429, 503]) func aServerThatAsksForARestIsLeftAlone(status: Int) throws {
    var interpreter = try Self.interpreter(status, [("retry-after", "120")])
    #expect(interpreter.plan() == .problem(.status(status), retryAfter: .seconds(120)))
    #expect(interpreter.effects == [.retryAfter(.seconds(120), value: "120")])
    var silent = try Self.interpreter(status)
    #expect(silent.plan() == .problem(.status(status), retryAfter: nil) && silent.effects.isEmpty)
  }

  @Test func aDateToAskAgainNeedsNoOtherDate() throws {
    var interpreter = try Self.interpreter(503, [("retry-after", "Tue, 14 Nov 2023 22:13:25 GMT")])
    #expect(interpreter.plan() == .problem(.status(503), retryAfter: .seconds(5)))
  }

  @Test func whatIsTooMuchForAServerAtTheMomentConcernsThisRequestAlone() throws {
    var interpreter = try Self.interpreter(413, [("retry-after", "120")])
    #expect(interpreter.plan() == .problem(.status(413), retryAfter: .seconds(120)) && interpreter.effects.isEmpty)
  }

  @Test func aMisdirectedRequestIsMadeOnceMore() throws {
    var first = try Self.interpreter(421, ask: Self.part)
    #expect(first.plan() == .again(Self.part, .misdirected))
    var second = try Self.interpreter(421, ask: Self.part) { $0.wasMisdirected = true }
    #expect(second.plan() == .problem(.status(421), retryAfter: nil))
  }

  @Test func whatAProxyHasTransformedIsTakenAsItIs() throws {
    var interpreter = try Self.interpreter(203, [("content-length", "5")])
    #expect(interpreter.plan() == nil)
    guard case .takeWhole? = interpreter.effects.last else { throw Unexpected("\(interpreter.effects)") }
  }

  @Test(arguments: [401, 407]) func whoAsksForACredentialIsAnsweredElsewhere(status: Int) throws {
    var interpreter = try Self.interpreter(status)
    #expect(interpreter.plan() == .challenged && interpreter.effects.isEmpty)
  }

  @Test func whoeverIsLetInWasAnsweredRightly() throws {
    var record = Self.record
    record.history.challenges = 2
    for hasAnswered in [true, false] {
      var interpreter = try Self.interpreter(
        200, [("content-length", "5")], record: record, hasAnswered: hasAnswered)
      _ = interpreter.plan()
      #expect(interpreter.record.history.challenges == (hasAnswered ? 0 : 2))
    }
  }

  @Test func aLengthThatCannotBeIsAFault() throws {
    var interpreter = try Self.interpreter(200, [("content-length", "9000000000000000000")])
    guard case .problem(.protocolFault, nil)? = interpreter.plan() else { throw Unexpected("believed") }
    #expect(interpreter.effects.isEmpty)
  }

  @Test func allOfTheSameFileInsteadOfARangeBeginsAnewAndIsRemembered() throws {
    let whole = [("content-length", "\(ResumePolicyTests.total)")]
    var record = Self.record
    record.partial?.entity.strongTag = nil
    record.history.triedBareRange = true
    var interpreter = try Self.interpreter(200, whole, ask: Self.part, start: Self.offset, record: record)
    let plan = interpreter.plan()
    guard plan == nil else { throw Unexpected("\(String(describing: plan))") }
    let restarts = interpreter.effects.filter { if case .startAfresh = $0 { true } else { false } }
    #expect(restarts.count == 1)
    guard case .takeWhole(_, provesLength: true)? = interpreter.effects.last else { throw Unexpected("not taken") }
  }

  @Test func aFileThatChangesWithEveryRequestIsGivenUp() {
    var history = JobHistory()
    for _ in 0..<ResponseInterpreter.maxValidatorRestarts {
      let (plan, reason) = ResponseInterpreter.changed(&history, otherwise: "x")
      guard case .next(.startAfresh) = plan, reason == nil else {
        Issue.record("\(plan)")
        return
      }
    }
    let (plan, reason) = ResponseInterpreter.changed(&history, otherwise: "x")
    #expect(plan == .problem(.protocolFault("x"), retryAfter: nil) && reason != nil)
  }

  @Test func aPieceIsAskedOfAnotherSourceFirst() throws {
    let whole = [("content-length", "\(ResumePolicyTests.total)")]
    var other = try Self.interpreter(200, whole, ask: Self.part, chunks: Self.chunks(other: true))
    guard case .elsewhere? = other.plan() else { throw Unexpected("not elsewhere") }
    var odd = try Self.interpreter(200, whole, ask: Self.part, chunks: Self.chunks(arrived: 1 << 30))
    #expect(odd.plan() == .again(Self.part, .bareRange) && odd.mayBeRangeless, "it may have been an odd answer")
    var second = try Self.interpreter(
      200, whole, ask: Self.part, chunks: Self.chunks(arrived: 1 << 30), mayBeRangeless: true)
    #expect(second.plan() == nil)
    guard case .takeMissingChunks? = second.effects.last else { throw Unexpected("\(second.effects)") }
    var several = try Self.interpreter(
      200, whole, ask: Self.part, chunks: Self.chunks(connections: 2), mayBeRangeless: true)
    guard case .next(.askOtherwise)? = several.plan() else { throw Unexpected("not ended") }
  }

  @Test func bodiesThatNobodyWantsAreReadOrCutByWhatTheyCost() throws {
    let url = try Self.url()
    let plans: [(ResponsePlan, HeadVerdict)] = [
      (.follow(url, dropsCredentials: false, becomesGet: false, wait: .zero), .drain), (.challenged, .drain),
      (.again(.whole, .probe), .drain), (.again(.whole, .server("x")), .abort), (.again(.whole, .dropsRange), .abort),
      (.problem(.status(500), retryAfter: nil), .drain), (.problem(.protocolFault("x"), retryAfter: nil), .abort),
      (.next(.verify), .abort), (.elsewhere("x"), .abort), (.complete, .abort),
    ]
    for (plan, verdict) in plans { #expect(plan.verdict == verdict, "\(plan)") }
  }

  /// Whatever a server says: bytes are taken only where they were asked for or from the first byte on, and a job that takes
  /// nothing says why.
  @Test(arguments: 0..<300) func randomHeads(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let statuses = [200, 204, 206, 301, 304, 307, 401, 404, 407, 412, 416, 429, 500, 503, 777]
    let values = [
      "", "0", "5", "-1", "bytes 0-4/5", "bytes \(Self.offset)-\(ResumePolicyTests.total - 1)/*", "gzip", "x, y",
      "\(ResumePolicyTests.total)", "bytes \(Self.offset)-\(ResumePolicyTests.total - 1)/\(ResumePolicyTests.total)",
      "\"v1\"", "\"v2\"", "W/\"v1\"", "99999999999999999999", "https://b.example/x", "multipart/byteranges; boundary=a",
    ]
    let names = [
      "content-length", "content-range", "etag", "location", "retry-after", "content-encoding",
      "transfer-encoding", "accept-ranges", "repr-digest", "content-type", "set-cookie",
    ]
    for _ in 0..<20 {
      let fields = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        (names.randomElement(using: &random) ?? "", values.randomElement(using: &random) ?? "")
      }
      let chunked = Int.random(in: 0..<3, using: &random) == 0 ? Self.chunks(other: .random(using: &random)) : nil
      let isPart = Bool.random(using: &random)
      var interpreter = try Self.interpreter(
        statuses.randomElement(using: &random) ?? 200, fields, ask: isPart ? Self.part : .whole,
        start: isPart ? Self.offset : 0, chunks: chunked)
      let plan = interpreter.plan()
      let takes = interpreter.effects.filter {
        switch $0 {
        case .take, .takePart, .takeWhole, .takeMissingChunks: true
        default: false
        }
      }
      #expect(takes.count == (plan == nil ? 1 : 0), "seed \(seed): \(fields)")
      for case .take(_, let from) in interpreter.effects {
        #expect(isPart && from == Self.offset, "seed \(seed): \(fields)")
      }
      if case .takeWhole? = takes.first { #expect(interpreter.head.status == 200, "seed \(seed): \(fields)") }
      #expect(interpreter.record.history.validatorRestarts <= 1, "seed \(seed)")
    }
  }
}
