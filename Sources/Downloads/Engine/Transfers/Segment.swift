internal import AssetModel

/// One transfer of a job: from the first request of a chain to the end of its body. Network thread only.
final class Segment {
  let job: JobID
  /// Who is asked: the job's URL, or one of its mirrors.
  let source: Int
  var transfer: TransferID
  var request: RequestState
  var link: LinkState
  /// What its head decided; nil: its body is wanted.
  var plan: ResponsePlan?
  /// Chunks that it fetches, where the job has a chunk list.
  var chunks: Range<Int>?
  var start: Int64
  var writer: BodyWriter?
  /// Where its body ends, if that brings less than it was asked for.
  var partEnd: Int64?
  /// It asks only for another version than this one.
  var known: KnownVersion?
  /// The owner is asked for a credential or for trust, and until when; no transfer is under way.
  var question: (challenge: AuthenticationChallenge, until: Duration)?
  /// Why the certificate wasn't accepted.
  var trustProblem: Authenticator.TrustProblem?
  /// More of an allowance is being asked for; its transfer is paused.
  var isWaitingForAllowance = false
  var stall: StallWindow
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
    request = RequestState(ask: ask, url: url)
    link = LinkState()
    self.start = start
    self.stall = stall
  }
}

/// How far a chain of requests has come: what is asked of whom, and what the answers before have shown.
struct RequestState: Equatable {
  var ask: ResumePolicy.Ask
  var url: ParsedURL
  var visited: [ParsedURL] = []
  var dropsCredentials = false
  /// A redirect said so: another method and the body are over (RFC 9110, 15.4).
  var hasBecomeGet = false
  /// All of the same version came where a range of it was asked for.
  var hasLostRange = false
  /// Several parts came where one range was asked for.
  var hasSeenParts = false
  /// A server said that it isn't the one that has it: then another connection is needed.
  var wasMisdirected = false
  /// Why it asks for everything although there is something already.
  var whyWhole: String?

  init(ask: ResumePolicy.Ask, url: ParsedURL) {
    self.ask = ask
    self.url = url
  }

  func method(of specification: DownloadSpecification) -> String { hasBecomeGet ? "GET" : specification.method }
  func body(of specification: DownloadSpecification) -> [UInt8] { hasBecomeGet ? [] : specification.body }

  /// The next hop of a redirect.
  mutating func follow(_ next: ParsedURL, dropsCredentials drops: Bool, becomesGet: Bool) {
    visited.append(url)
    dropsCredentials = dropsCredentials || drops
    hasBecomeGet = hasBecomeGet || becomesGet
    url = next
    wasMisdirected = false
  }
}

/// The connection that a request is on.
struct LinkState {
  /// No connection, and then no complete head by then: the request is given up.
  var headDeadline: Duration?
  var isConnected = false
  /// When its last request was made.
  var asked: Duration = .zero
  /// Its answer may come, or came, by HTTP/2.
  var mayBeHTTP2 = false
  /// How often, in a row, its request came too late for the connection that it was sent on.
  var timesTooLate = 0
  var window = ReceiveWindow()
  /// Whether it was said that it is slow for the sake of others.
  var isKnownToGiveWay = false
}
