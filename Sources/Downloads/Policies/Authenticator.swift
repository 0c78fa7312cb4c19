internal import AssetModel

/// Who a download says it is, and whom it trusts: the credentials, client certificates and keys that were given for its
/// origins, and what follows from another challenge. In memory only, for one activation of one job. A pure value.
struct Authenticator {
  /// What the owner is asked, and for what.
  struct Question: Sendable, Equatable {
    var challenge: AuthenticationChallenge
    /// The scheme that an answer is used with; nil: it is about trust, or about a client certificate.
    var scheme: Challenge?
    /// Weaker ones that were offered beside it, the strongest first: a password goes to the first that takes one, a token likewise.
    var alternatives: [Challenge] = []
    /// The leaf key that would be trusted.
    var key: String?
    /// What follows if there is no client certificate.
    var otherwise: NextStep?
  }

  enum Verdict: Equatable {
    /// The request is made again: what it lacked is here.
    case again
    case ask(Question)
    case end(NextStep)

    static func fail(_ failure: TransferFailure) -> Verdict { .end(.fail(failure)) }
  }

  /// Of the request that was challenged.
  struct Request {
    var app: String
    var identifier: String
    /// Its number in the chain of redirects.
    var hop: Int
    /// `scheme://host:port`.
    var origin: String
    /// What the proxy is called in messages; nil: there is none on the way.
    var proxyName: String?
    /// Answers that were refused since the last one that was accepted.
    var refusals: Int
    /// Whether the caller answers challenges.
    var canAsk: Bool
  }

  static let maxChallenges = 3
  /// Nonces that a server may call old before the owner is asked again.
  static let maxStaleNonces = 8
  /// By which the proxy's credential is kept.
  private static let proxy = "proxy"

  private var sessions: [String: Authorization.Session] = [:]
  private(set) var certificates: [String: ClientCertificate] = [:]
  /// Leaf keys (`sha256//…`) that take the place of verification, by host.
  private(set) var trustedKeys: [String: String] = [:]
  private var staleNonces = 0
  /// Questions asked, by origin.
  private var rounds: [String: Int] = [:]
  /// What one source refuses says nothing of another.
  private let countsByOrigin: Bool

  init(hasMirrors: Bool) { countsByOrigin = hasMirrors }

  /// Whether a credential was given to any server.
  var hasAnswered: Bool { !sessions.isEmpty || !certificates.isEmpty }

  private func refusals(_ origin: String, _ request: Request) -> Int {
    countsByOrigin ? rounds[origin] ?? 0 : request.refusals
  }

  /// One of the questions is put.
  mutating func asked(_ question: Question) { rounds[question.challenge.origin, default: 0] += 1 }

  // MARK: 401 and 407 (RFC 9110, 11)

  /// `strongest`: what the peer offered before; a weaker scheme is never answered.
  mutating func challenged(
    _ head: ResponseHead, _ request: Request, strongest: inout Challenge.Strength?
  ) -> Verdict {
    let isProxy = head.status == 407
    if isProxy, request.proxyName == nil {
      return .fail(
        TransferFailure(
          .hostileResponse, status: head.status, hop: request.hop,
          detail: "\(request.origin) answers as a proxy that asks for a credential, and there is none on the way"))
    }
    let origin = isProxy ? Self.proxy : request.origin
    let offered = Challenge.parse(head.values(isProxy ? "proxy-authenticate" : "www-authenticate"))
    func fail(_ scheme: AuthScheme?, _ outcome: CredentialDemand.Outcome) -> Verdict {
      var demand = demand(scheme, of: origin, request, outcome)
      demand.others = Self.others(than: scheme, in: offered.filter(Authorization.isSupported))
      return .fail(TransferFailure(.challenge, status: head.status, hop: request.hop, cause: .credential(demand)))
    }
    let supported = offered.filter(Authorization.isSupported)
    guard let best = supported.max(by: { $0.strength < $1.strength }) else { return fail(nil, .unanswered) }
    if let strongest, best.strength < strongest {
      return fail(best.scheme, .weaker(than: strongest.scheme))
    }
    strongest = best.strength
    // A credential was given for a realm: for another one it is asked for anew.
    let renewed = supported.lazy.compactMap { [sessions] in sessions[origin]?.renewed(by: $0) }.first
    if staleNonces < Self.maxStaleNonces, let session = renewed {
      // An old nonce isn't a refusal, and counts for itself.
      staleNonces += 1
      sessions[origin] = session
      return .again
    }
    guard request.canAsk else {
      return fail(best.scheme, .nobodyToAsk(realm: Printable.text(best.realm, limit: 60)))
    }
    let refusals = refusals(origin, request)
    guard refusals < Self.maxChallenges else {
      return fail(best.scheme, .refusedOften(times: Self.maxChallenges))
    }
    let kind = AuthenticationChallenge.Kind.credentials(
      scheme: best.scheme.rawValue, realm: best.realm, isProxy: isProxy)
    let alternatives = supported.filter { $0.strength < best.strength }.sorted { $1.strength < $0.strength }
    return .ask(
      Question(challenge: challenge(kind, origin, request, refusals), scheme: best, alternatives: alternatives))
  }

  private func challenge(
    _ kind: AuthenticationChallenge.Kind, _ origin: String, _ request: Request, _ refusals: Int
  ) -> AuthenticationChallenge {
    AuthenticationChallenge(
      kind: kind, origin: origin, app: request.app, identifier: request.identifier, previousFailureCount: refusals)
  }

  private func name(of origin: String, _ request: Request) -> String {
    origin == Self.proxy ? request.proxyName ?? "the proxy" : origin
  }

  /// Why a certificate wasn't accepted.
  struct TrustProblem: Equatable {
    /// What the TLS library says, fit for a terminal.
    var text: String
    var fault: TLSDiagnosis.Fault

    func failure(_ origin: String, hop: Int = 0) -> TransferFailure {
      switch fault {
      case .unknownAuthority, .forgedSignature:
        let cause = FailureCause.untrustedAuthority(
          origin: origin, isForged: fault == .forgedSignature, problem: text)
        return TransferFailure(.trust, hop: hop, cause: cause)
      case .notYetValid, .oldTLS, .unreadableAuthorities, .other:
        return TransferFailure(.trust, hop: hop, detail: "\(origin): \(text)")
      }
    }
  }

  /// `trustProblem`: why the certificate wasn't accepted.
  mutating func answered(
    _ question: Question, with answer: ChallengeAnswer, host: String, _ request: Request, trustProblem: TrustProblem?
  ) -> Verdict {
    let origin = question.challenge.origin
    if let otherwise = question.otherwise {
      guard case .clientCertificate(let certificate) = answer else { return .end(otherwise) }
      certificates[origin] = certificate
      return .again
    }
    switch (answer, question.scheme, question.key) {
    case (.credential(let user, let password), let scheme?, _):
      let scheme = ([scheme] + question.alternatives).first { $0.scheme != .bearer }
      sessions[origin] = scheme.flatMap { Authorization.Session($0, .password(user: user, password: password)) }
    case (.bearer(let token), let scheme?, _):
      let scheme = ([scheme] + question.alternatives).first { $0.scheme == .bearer }
      sessions[origin] = scheme.flatMap { Authorization.Session($0, .token(token)) }
    case (.trustShownKey, nil, let key?):
      trustedKeys[host] = key
      return .again
    default: return .fail(unanswered(question, request, trustProblem))
    }
    if sessions[origin] != nil { return .again }
    return .fail(
      TransferFailure(.challenge, cause: .credential(demand(question.scheme?.scheme, of: origin, request, .unfit))))
  }

  /// There is no answer, or none but the one that was refused.
  private func unanswered(_ question: Question, _ request: Request, _ trustProblem: TrustProblem?) -> TransferFailure {
    let origin = question.challenge.origin
    guard let scheme = question.scheme?.scheme else {
      let problem = trustProblem ?? TrustProblem(text: "its certificate isn't trusted", fault: .other)
      return problem.failure(name(of: origin, request))
    }
    var demand = demand(scheme, of: origin, request, sessions[origin] != nil ? .refused : .unanswered)
    demand.others = Self.others(than: scheme, in: question.alternatives)
    return TransferFailure(.challenge, status: demand.isProxy ? 407 : 401, cause: .credential(demand))
  }

  private static func others(than scheme: AuthScheme?, in offered: [Challenge]) -> [AuthScheme]? {
    let schemes = offered.compactMap { $0.scheme == scheme ? nil : $0.scheme }
    return schemes.isEmpty ? nil : schemes
  }

  private func demand(
    _ scheme: AuthScheme?, of origin: String, _ request: Request, _ outcome: CredentialDemand.Outcome
  ) -> CredentialDemand {
    CredentialDemand(scheme, by: name(of: origin, request), isProxy: origin == Self.proxy, outcome)
  }

  // MARK: Headers

  mutating func authorization(for url: ParsedURL, method: String, cnonce: () -> String) -> [Download.Header] {
    let target = url.path + (url.query.map { "?\($0)" } ?? "")
    return header("Authorization", of: url.origin, method: method, target: target, cnonce)
  }

  /// What a proxy asked for: it sees another target, and for a tunnel another method (RFC 9112, 3.2).
  mutating func proxyAuthorization(for url: ParsedURL, method: String, cnonce: () -> String) -> [Download.Header] {
    let isTunnel = url.scheme == "https"
    return header(
      "Proxy-Authorization", of: Self.proxy, method: isTunnel ? "CONNECT" : method,
      target: isTunnel ? "\(url.host):\(url.port)" : url.text, cnonce)
  }

  private mutating func header(
    _ name: String, of origin: String, method: String, target: String, _ cnonce: () -> String
  ) -> [Download.Header] {
    guard let value = sessions[origin]?.header(method: method, target: target, cnonce: cnonce()) else { return [] }
    return [Download.Header(name: name, value: value)]
  }

  // MARK: Certificates

  /// Whether a chain that wasn't accepted may be looked at, and the owner asked about it: where revocation counts or a key is
  /// pinned nothing is open to question, and old TLS isn't spoken whomever one trusts.
  func mayAskForTrust(
    in host: String, _ request: Request, fault: TLSDiagnosis.Fault, checksRevocation: Bool, isPinned: Bool
  ) -> Bool {
    ![.oldTLS, .unreadableAuthorities].contains(fault) && !checksRevocation && !isPinned && request.canAsk
      && trustedKeys[host] == nil
      && refusals(request.origin, request) < Self.maxChallenges
  }

  /// The chain that wasn't accepted, leaf first, as PEM.
  func shown(_ chain: [String], problem: TrustProblem?, _ request: Request) -> Verdict {
    guard let problem, let leaf = chain.first, let key = PEMText(leaf).pin else {
      return .fail(
        TransferFailure(.trust, detail: "\(request.origin): its certificate isn't trusted, and it showed none"))
    }
    let refusals = refusals(request.origin, request)
    return .ask(
      Question(
        challenge: challenge(.serverTrust(chain: chain, problem: problem.text), request.origin, request, refusals),
        key: key)
    )
  }

  /// The server wants to know who asks. `text`: how the handshake failed.
  func certificateDemanded(_ demand: TLSDiagnosis.Demand, _ request: Request, text: String) -> Verdict {
    let origin = request.origin
    func failure(_ detail: String) -> NextStep {
      .fail(TransferFailure(.challenge, hop: request.hop, detail: detail))
    }
    let unanswered = TransferFailure(.challenge, hop: request.hop, cause: .clientCertificate(origin: origin))
    let isCertain = demand != .perhaps || certificates[origin] != nil
    // A handshake may fail without a word for other reasons, too: then it is tried again like any other.
    let otherwise: NextStep = isCertain ? .fail(unanswered) : .retry(.tls(text), retryAfter: nil)
    if demand == .unusable {
      return .end(
        failure("the client certificate and its key don't belong together, or one of them can't be read (\(text))"))
    }
    guard request.canAsk else { return .end(otherwise) }
    let refusals = refusals(origin, request)
    guard refusals < Self.maxChallenges else {
      return .end(isCertain ? failure("\(origin) refused \(Self.maxChallenges) client certificates") : otherwise)
    }
    return .ask(
      Question(
        challenge: challenge(.clientCertificate(isCertain: isCertain), origin, request, refusals), otherwise: otherwise)
    )
  }
}
