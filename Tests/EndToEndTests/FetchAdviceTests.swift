import AssetModel
import Downloads
import Testing

@testable import outrider

/// What is advised, by what a failure was about.
@Suite(.timeLimit(.minutes(1))) struct FetchAdviceTests {
  private static let origin = "https://a.example:443"
  private static let proxy = "the proxy p:1"

  private static func wanted(
    _ scheme: AuthScheme?, _ outcome: CredentialDemand.Outcome, others: [AuthScheme]? = nil, by peer: String = origin
  ) -> FailureCause {
    .credential(CredentialDemand(scheme, others: others, by: peer, isProxy: peer == proxy, outcome))
  }

  private static func refused(_ address: String?) -> FailureCause {
    .refusedAddress(host: "a", address: address, reason: "\(address ?? "it") is what it is")
  }

  private static func signed(isForged: Bool, _ problem: String) -> FailureCause {
    .untrustedAuthority(origin: origin, isForged: isForged, problem: problem)
  }

  private static let own = FetchAdvice(hasUser: true, hasToken: true, origins: [origin])
  private static let others = FetchAdvice(hasUser: true, hasToken: true, origins: ["https://b.example:443"])
  private static let proxied = FetchAdvice(hasProxyCredential: true)

  private static let rows: [(FailureCause, FetchAdvice, String)] = [
    (.httpStatus(410), own, "the server answered 410"),
    (
      .httpStatus(204), own,
      "the server answered 204: it has no content at this URL, so there is no file; check the URL"
    ),
    (
      wanted(.digest, .nobodyToAsk(realm: "x")), FetchAdvice(),
      "\(origin) asks for a credential (digest, realm \"x\"); give one with --user NAME:PASSWORD"
    ),
    (
      wanted(.basic, .unanswered), FetchAdvice(),
      "\(origin) asks for a credential (basic); give one with --user NAME:PASSWORD"
    ),
    (
      wanted(.bearer, .unanswered), FetchAdvice(hasUser: true),
      "\(origin) asks for a credential (bearer); give a token with --token-file FILE"
    ),
    (
      wanted(.bearer, .nobodyToAsk(realm: "x"), others: [.digest, .basic]), FetchAdvice(),
      "\(origin) asks for a credential (bearer, realm \"x\"); give a token with --token-file FILE, or a name with "
        + "--user NAME:PASSWORD"
    ),
    (
      wanted(.bearer, .refused, others: [.basic]), FetchAdvice(hasUser: true, origins: [origin]),
      "\(origin) refused the credential that it was given (bearer); what --user gave was refused"
    ),
    (
      wanted(.basic, .unanswered), others,
      "\(origin) asks for a credential (basic); --user is for hosts that the command names, and this isn't one of them"
    ),
    (
      wanted(.basic, .refused), own,
      "\(origin) refused the credential that it was given (basic); what --user gave was refused"
    ),
    (
      wanted(.bearer, .refusedOften(times: 3)), own,
      "\(origin) refused 3 credentials (bearer); what --token-file gave was refused"
    ),
    (
      wanted(.basic, .weaker(than: .digest)), FetchAdvice(),
      "\(origin) offers a weaker scheme (basic) than before (digest)"
    ),
    (wanted(nil, .unanswered), FetchAdvice(), "\(origin) asks for a credential by no scheme that is known"),
    (
      wanted(.basic, .nobodyToAsk(realm: "x"), by: proxy), own,
      "\(proxy) asks for a credential (basic, realm \"x\"); it goes into the proxy's own URL: http://NAME:PASSWORD@HOST:PORT"
    ),
    (
      wanted(.basic, .unanswered, by: proxy), own,
      "\(proxy) asks for a credential (basic); it goes into the proxy's own URL: http://NAME:PASSWORD@HOST:PORT"
    ),
    (
      wanted(.basic, .unanswered, by: proxy), proxied,
      "\(proxy) asks for a credential (basic); the one in its URL was refused"
    ),
    (
      .clientCertificate(origin: origin), own,
      "\(origin) asks for a client certificate, and was given none that it accepts; --cert FILE shows one to hosts that "
        + "the command names"
    ),
    (
      signed(isForged: false, "self-signed certificate"), own,
      "\(origin): self-signed certificate; --cacert FILE names the authority that signed it"
    ),
    (
      signed(isForged: true, "error:06880006:asn1 encoding routines::EVP lib"), own,
      "\(origin): its certificate isn't signed by the authority whose name it has; --cacert FILE names another"
    ),
    (refused("10.0.0.1"), own, "a: 10.0.0.1 is what it is; --allow-private lets such addresses in"),
    (refused("fe80::1"), own, "a: fe80::1 is what it is; --allow-private lets such addresses in"),
    (refused("224.0.0.1"), own, "a: 224.0.0.1 is what it is"),
    (refused("127.0.0.1"), own, "a: 127.0.0.1 is what it is"),
    (refused("1.1.1.1"), own, "a: 1.1.1.1 is what it is"), (refused(nil), own, "a: it is what it is"),
    (
      .addressLiteral(address: "1.2.3.4", redirectedBy: nil), own,
      "1.2.3.4 is an address, which a proxy would connect to unseen; write a name, or list it in no_proxy"
    ),
    (
      .addressLiteral(address: "1.2.3.4", redirectedBy: "https://b/c"), own,
      "redirected by https://b/c: 1.2.3.4 is an address, which a proxy would connect to unseen; write a name, or list it "
        + "in no_proxy"
    ),
  ]

  @Test(arguments: rows.indices) func advice(row: Int) {
    let (cause, advice, expected) = Self.rows[row]
    #expect(advice.detail(of: TransferFailure(.refused, cause: cause)) == expected)
  }

  @Test("what is kept is said before the advice") func kept() {
    let failure = TransferFailure(.challenge, status: 401, cause: Self.wanted(.basic, .unanswered)).keeping(5)
    let told = FetchAdvice().detail(of: failure)
    #expect(told.hasSuffix("goes on from them; give one with --user NAME:PASSWORD"), "\(told)")
    #expect(told.hasPrefix("\(Self.origin) asks for a credential (basic); the 5 bytes "), "\(told)")
  }

  @Test("what is given up is said before the advice, whatever the cause", arguments: rows.indices)
  func givenUp(row: Int) {
    let (cause, advice, expected) = Self.rows[row]
    let told = advice.detail(of: TransferFailure(.refused, cause: cause).losing(5, as: nil))
    #expect(told.contains("; the 5 bytes that were there are given up"), "\(told)")
    #expect(told.replacing("; the 5 bytes that were there are given up", with: "") == expected)
  }

  @Test("a row of an older journal has a sentence only, whatever that says", arguments: rows.indices)
  func olderRows(row: Int) {
    let (cause, advice, _) = Self.rows[row]
    for reason in TransferFailure.Reason.allCases {
      #expect(advice.detail(of: TransferFailure(reason, detail: cause.sentence)) == cause.sentence)
    }
  }
}
