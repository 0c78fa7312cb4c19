import AssetModel
import Basics
import DevelopmentOrigin
import Hashing
import TestSupport
import Testing

@testable import Downloads

/// Whichever peer asks for whatever, in whatever order: each is shown what was given for it, and nothing else.
@Suite(.timeLimit(.minutes(1))) struct AuthenticatorPropertyTests {
  private static let origins = [
    "https://a.example:443", "https://b.example:443", "http://a.example:80", "https://a.example:8443",
  ]
  private static let proxyName = "the proxy p:1"
  private static let schemes: [(AuthScheme, String)] = [
    (.basic, "Basic realm=\"r\""),
    (.digest, "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256"), (.bearer, "Bearer realm=\"r\""),
  ]
  /// By which the proxy is kept here.
  private static let proxy = origins.count

  private struct Peer {
    var strongest: Challenge.Strength?
    /// What it is shown: what was given for it last.
    var secret: String?
    var refusals = 0
    var questions = 0
  }

  private static func request(_ peer: Int, through origin: Int, _ refusals: Int) -> Authenticator.Request {
    Authenticator.Request(
      app: "app", identifier: "file", hop: 0, origin: origins[peer == proxy ? origin : peer], proxyName: proxyName,
      refusals: refusals, canAsk: true)
  }

  /// The name or token that a header shows.
  private static func secret(_ header: Download.Header) -> String? {
    let value = header.value
    if value.hasPrefix("Bearer ") { return String(value.dropFirst(7)) }
    if value.hasPrefix("Basic ") {
      return Base64.decode(String(value.dropFirst(6))).flatMap { String(validating: $0, as: UTF8.self) }.map {
        String($0.prefix { $0 != ":" })
      }
    }
    return value.split(separator: "username=\"", maxSplits: 1).last.map { String($0.prefix { $0 != "\"" }) }
  }

  @Test(arguments: 0..<200) func randomChallenges(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var access = Authenticator(hasMirrors: false)
    var peers = [Peer](repeating: Peer(), count: Self.origins.count + 1)
    for step in 0..<40 {
      let context = "seed \(seed), step \(step)"
      let peer = random.below(peers.count)
      let request = Self.request(peer, through: random.below(Self.origins.count), peers[peer].refusals)
      let before = peers[peer].strongest
      let (name, status) = peer == Self.proxy ? ("proxy-authenticate", 407) : ("www-authenticate", 401)
      let offers = Self.schemes.filter { _ in random.chance(2) }.map { (name, $0.1) }
      let verdict = access.challenged(
        ResumePolicyTests.head(status, offers), request, strongest: &peers[peer].strongest)
      if let before, let now = peers[peer].strongest { #expect(now >= before, "\(context)") }
      guard case .ask(let question) = verdict else {
        // A server that refuses for good says nothing of the others; this one may begin anew.
        if peers[peer].refusals >= Authenticator.maxChallenges { peers[peer].refusals = 0 }
        try expectHeaders(&access, peers, context)
        continue
      }
      #expect(peers[peer].refusals < Authenticator.maxChallenges, "asked too often: \(context)")
      #expect(question.scheme.map { $0.strength >= before ?? $0.strength } == true, "a weaker scheme: \(context)")
      access.asked(question)
      peers[peer].refusals += 1
      peers[peer].questions += 1
      let secret = "peer\(peer)-\(peers[peer].questions)"
      let answer: ChallengeAnswer =
        switch random.below(4) {
        case 0: .performDefaultHandling
        case 1: .bearer(token: secret)
        default: .credential(user: secret, password: "password")
        }
      let after = access.answered(question, with: answer, host: "a.example", request, trustProblem: nil)
      // What doesn't fit takes the place of what was there.
      if answer != .performDefaultHandling { peers[peer].secret = after == .again ? secret : nil }
      try expectHeaders(&access, peers, context)
    }
  }

  private func expectHeaders(_ access: inout Authenticator, _ peers: [Peer], _ context: String) throws {
    for (index, origin) in Self.origins.enumerated() {
      let url = try ParsedURL("\(origin)/f")
      let shown = access.authorization(for: url, method: "GET") { "c" }
      let proxied = access.proxyAuthorization(for: url, method: "GET") { "c" }
      #expect(shown.allSatisfy { $0.name == "Authorization" } && shown.count <= 1, "\(context)")
      #expect(proxied.allSatisfy { $0.name == "Proxy-Authorization" } && proxied.count <= 1, "\(context)")
      #expect(shown.first.flatMap(Self.secret) == peers[index].secret, "what was given for it alone: \(context)")
      #expect(proxied.first.flatMap(Self.secret) == peers[Self.proxy].secret, "\(context)")
      #expect(shown.isEmpty == (peers[index].secret == nil), "\(context)")
      #expect(proxied.isEmpty == (peers[Self.proxy].secret == nil), "\(context)")
    }
  }

  /// Certificates and keys are for the origin, and for the host, that they were given for.
  @Test(arguments: 0..<50) func randomCertificates(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var access = Authenticator(hasMirrors: false)
    let client = try Authority.shared.authority.client(name: "me")
    let certificate = try ClientCertificate(certificate: client.certificate, key: client.key)
    var given: Set<String> = []
    for _ in 0..<20 {
      let origin = random.below(Self.origins.count)
      let request = Self.request(origin, through: origin, random.below(5))
      let demand: TLSDiagnosis.Demand = [.demanded, .perhaps, .refused, .unusable][random.below(4)]
      let verdict = access.certificateDemanded(demand, request, text: "x")
      guard case .ask(let question) = verdict else {
        #expect(request.refusals >= Authenticator.maxChallenges || demand == .unusable, "seed \(seed)")
        continue
      }
      #expect(request.refusals < Authenticator.maxChallenges && demand != .unusable, "seed \(seed)")
      let answer: ChallengeAnswer =
        random.chance(2)
        ? .clientCertificate(certificate) : .credential(user: "u", password: "p")
      let after = access.answered(question, with: answer, host: "a.example", request, trustProblem: nil)
      if case .clientCertificate = answer { given.insert(Self.origins[origin]) }
      #expect((after == .again) == { if case .clientCertificate = answer { true } else { false } }(), "seed \(seed)")
      #expect(Set(access.certificates.keys) == given && access.trustedKeys.isEmpty, "seed \(seed)")
      for origin in Self.origins {
        #expect(try access.authorization(for: ParsedURL(origin), method: "GET") { "c" }.isEmpty, "seed \(seed)")
      }
    }
  }
}
