import AssetModel
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct AuthenticatorTests {
  private static func request(
    _ origin: String = "https://a.example:443", proxy: String? = nil, refusals: Int = 0, canAsk: Bool = true
  ) -> Authenticator.Request {
    Authenticator.Request(
      app: "app", identifier: "file", hop: 0, origin: origin, proxyName: proxy, refusals: refusals, canAsk: canAsk)
  }

  private static func head(_ status: Int, _ challenges: String...) -> ResponseHead { head(status, challenges) }

  private static func head(_ status: Int, _ offers: [String]) -> ResponseHead {
    let name = status == 407 ? "proxy-authenticate" : "www-authenticate"
    return ResumePolicyTests.head(status, offers.map { (name, $0) })
  }

  private static func failure(_ verdict: Authenticator.Verdict) -> TransferFailure? {
    if case .end(.fail(let failure)) = verdict { failure } else { nil }
  }

  private static func question(_ verdict: Authenticator.Verdict) throws -> Authenticator.Question {
    guard case .ask(let question) = verdict else { throw Unexpected("\(verdict)") }
    return question
  }

  private static let basic = "Basic realm=\"r\""
  private static let digest = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256"

  @Test func theStrongestSchemeIsAskedForAndAWeakerOneNeverAnswered() throws {
    var access = Authenticator(hasMirrors: false)
    var strongest: Challenge.Strength?
    let first = try Self.question(
      access.challenged(Self.head(401, Self.basic, Self.digest), Self.request(), strongest: &strongest))
    #expect(first.scheme?.scheme == .digest)
    let weaker = access.challenged(Self.head(401, Self.basic), Self.request(), strongest: &strongest)
    #expect(Self.failure(weaker)?.detail.contains("weaker scheme") == true)
  }

  @Test("a password goes to the strongest scheme that takes one, and a token to the one for tokens", arguments: 0..<6)
  func otherSchemes(order: Int) throws {
    let bearer = "Bearer realm=\"r\""
    let offers = [
      [bearer, Self.basic], [Self.basic, bearer], [bearer, Self.basic, Self.digest], [Self.digest, bearer, Self.basic],
      [Self.digest, Self.basic, bearer], ["\(bearer), \(Self.basic)"],
    ]
    let hasDigest = offers[order].contains(Self.digest)
    for (answer, scheme) in [
      (.credential(user: "u", password: "p"), hasDigest ? "Digest" : "Basic"), (.bearer(token: "t"), "Bearer"),
    ] as [(ChallengeAnswer, String)] {
      var access = Authenticator(hasMirrors: false)
      var strongest: Challenge.Strength?
      let head = Self.head(401, offers[order])
      let question = try Self.question(access.challenged(head, Self.request(), strongest: &strongest))
      #expect(access.answered(question, with: answer, host: "a.example", Self.request(), trustProblem: nil) == .again)
      let headers = try access.authorization(for: ParsedURL("https://a.example/x"), method: "GET") { "c" }
      #expect(headers.first?.value.hasPrefix(scheme + " ") == true, "\(headers)")
    }
  }

  @Test func anOriginIsNoProxy() {
    var access = Authenticator(hasMirrors: false)
    var strongest: Challenge.Strength?
    let verdict = access.challenged(Self.head(407, Self.basic), Self.request(), strongest: &strongest)
    #expect(Self.failure(verdict)?.reason == .hostileResponse && strongest == nil)
  }

  @Test func nobodyIsAskedMoreThanThreeTimes() throws {
    for hasMirrors in [false, true] {
      var access = Authenticator(hasMirrors: hasMirrors)
      var strongest: Challenge.Strength?
      for round in 0..<Authenticator.maxChallenges {
        let request = Self.request(refusals: hasMirrors ? 0 : round)
        let question = try Self.question(
          access.challenged(Self.head(401, Self.basic), request, strongest: &strongest))
        #expect(question.challenge.previousFailureCount == round)
        access.asked(question)
      }
      let request = Self.request(refusals: hasMirrors ? 0 : Authenticator.maxChallenges)
      let last = access.challenged(Self.head(401, Self.basic), request, strongest: &strongest)
      #expect(Self.failure(last)?.detail.contains("refused 3 credentials") == true)
      // What one source refuses says nothing of another.
      guard hasMirrors else { continue }
      var other: Challenge.Strength?
      _ = try Self.question(
        access.challenged(Self.head(401, Self.basic), Self.request("https://b.example:443"), strongest: &other))
    }
  }

  @Test func aCredentialGoesToTheOriginThatItWasGivenFor() throws {
    var access = Authenticator(hasMirrors: false)
    var strongest: Challenge.Strength?
    let question = try Self.question(
      access.challenged(Self.head(401, Self.basic), Self.request(), strongest: &strongest))
    let verdict = access.answered(
      question, with: .credential(user: "u", password: "p"), host: "a.example", Self.request(), trustProblem: nil)
    #expect(verdict == .again && access.hasAnswered)
    func headers(_ url: String) throws -> [Download.Header] {
      try access.authorization(for: ParsedURL(url), method: "GET") { "c" }
    }
    #expect(try headers("https://a.example/x").map(\.name) == ["Authorization"])
    for other in ["https://b.example/x", "http://a.example/x", "https://a.example:8443/x"] {
      #expect(try headers(other).isEmpty, "\(other)")
    }
    #expect(try access.proxyAuthorization(for: ParsedURL("https://a.example/x"), method: "GET") { "c" }.isEmpty)
  }

  @Test func anAnswerThatBreaksOutOfAHeaderFitsNothing() throws {
    var access = Authenticator(hasMirrors: false)
    var strongest: Challenge.Strength?
    let question = try Self.question(
      access.challenged(Self.head(401, Self.basic), Self.request(), strongest: &strongest))
    for answer: ChallengeAnswer in [
      .credential(user: "u\r\nX: y", password: "p"), .credential(user: "u:v", password: "p"), .bearer(token: "t"),
      .cancel, .performDefaultHandling, .trustShownKey,
    ] {
      let verdict = access.answered(question, with: answer, host: "a.example", Self.request(), trustProblem: nil)
      #expect(Self.failure(verdict)?.reason == .challenge && !access.hasAnswered, "\(answer)")
    }
  }

  @Test func anOldNonceIsRenewedWithoutAskingABoundedNumberOfTimes() throws {
    var access = Authenticator(hasMirrors: false)
    var strongest: Challenge.Strength?
    let question = try Self.question(
      access.challenged(Self.head(401, Self.digest), Self.request(), strongest: &strongest))
    _ = access.answered(
      question, with: .credential(user: "u", password: "p"), host: "a.example", Self.request(), trustProblem: nil)
    let stale = Self.head(401, Self.digest + ", stale=true")
    for _ in 0..<Authenticator.maxStaleNonces {
      #expect(access.challenged(stale, Self.request(), strongest: &strongest) == .again)
    }
    _ = try Self.question(access.challenged(stale, Self.request(), strongest: &strongest))
  }

  @Test func trustIsOpenToQuestionOnlyWhereNothingForbidsIt() {
    let access = Authenticator(hasMirrors: false)
    func may(
      _ fault: TLSDiagnosis.Fault = .other, revocation: Bool = false, pinned: Bool = false, refusals: Int = 0,
      canAsk: Bool = true
    ) -> Bool {
      access.mayAskForTrust(
        in: "a.example", Self.request(refusals: refusals, canAsk: canAsk), fault: fault,
        checksRevocation: revocation, isPinned: pinned)
    }
    #expect(may() && !may(.oldTLS) && !may(revocation: true) && !may(pinned: true))
    #expect(!may(refusals: Authenticator.maxChallenges) && !may(canAsk: false))
  }

  @Test func aHandshakeThatMayLackACertificateIsTriedAgainOtherwise() throws {
    let access = Authenticator(hasMirrors: false)
    guard case .end(.retry) = access.certificateDemanded(.perhaps, Self.request(canAsk: false), text: "x") else {
      throw Unexpected("no retry")
    }
    #expect(Self.failure(access.certificateDemanded(.demanded, Self.request(canAsk: false), text: "x")) != nil)
    let unusable = Self.failure(access.certificateDemanded(.unusable, Self.request(), text: "x"))
    #expect(unusable?.detail.contains("don't belong together") == true)
    let question = try Self.question(access.certificateDemanded(.demanded, Self.request(), text: "x"))
    #expect(question.challenge.kind == .clientCertificate(isCertain: true))
  }
}
