import AssetModel
import TestSupport
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct AuthorizationTests {
  static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
  static let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
  static let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
  static let mufasa = Authorization.Credential.password(user: "Mufasa", password: "Circle of Life")

  static func challenge(_ text: String) throws -> Challenge { try #require(Challenge.parse([text]).first) }

  static func digest(_ algorithm: String) throws -> Challenge {
    try challenge(
      "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=\(algorithm), nonce=\"\(nonce)\", opaque=\"\(opaque)\""
    )
  }

  static func field(_ name: String, in header: String) -> Substring? {
    header.dropFirst("Digest ".count).split(separator: ", ").first { $0.hasPrefix("\(name)=") }?.dropFirst(
      name.count + 1)
  }

  /// RFC 7616, 3.9.1, and the same request by the other algorithms.
  @Test(arguments: [
    ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ("SHA-512-256", "430d05014cecc49cab6fbe03176d41a1da86cbfe24a16580e22aaad928d960d0"),
    ("md5-SESS", "e783283f46242139c486a698fec7211d"),
    ("SHA-256-sess", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"),
    ("SHA-512-256-sess", "3f2a34f923c38b0fb26dce2fdfc2ce326c23cecf86fbb1444f3e51fbbc2cb92e"),
  ])
  func digestVectors(algorithm: String, response: String) throws {
    var session = try #require(Authorization.Session(try Self.digest(algorithm), Self.mufasa))
    let header = session.header(method: "GET", target: "/dir/index.html", cnonce: Self.cnonce)
    #expect(Self.field("response", in: header) == "\"\(response)\"" && Self.field("nc", in: header) == "00000001")
    #expect(Self.field("qop", in: header) == "auth" && Self.field("opaque", in: header) == "\"\(Self.opaque)\"")
  }

  /// RFC 2617, 3.5 with a quality, and the same as RFC 2069 has it.
  @Test(arguments: [(", qop=\"auth\"", "6629fae49393a05397450978507c4ef1"), ("", "670fd8c2df070c60b045671b8b24ff02")])
  func oldServers(quality: String, response: String) throws {
    let challenge = try Self.challenge(
      "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"\(quality)")
    var session = try #require(Authorization.Session(challenge, .password(user: "Mufasa", password: "Circle Of Life")))
    let header = session.header(method: "GET", target: "/dir/index.html", cnonce: "0a4f113b")
    #expect(Self.field("response", in: header) == "\"\(response)\"" && Self.field("algorithm", in: header) == nil)
    #expect((Self.field("cnonce", in: header) == nil) == quality.isEmpty)
  }

  @Test func requestsAreCounted() throws {
    var session = try #require(Authorization.Session(try Self.digest("SHA-256"), Self.mufasa))
    let headers = (0..<17).map { session.header(method: "GET", target: "/", cnonce: "\($0)") }
    #expect(Self.field("nc", in: headers[16]) == "00000011" && Self.field("cnonce", in: headers[16]) == "\"16\"")
  }

  @Test func aSessionKeepsItsFirstNonce() throws {
    var session = try #require(Authorization.Session(try Self.digest("SHA-256-sess"), Self.mufasa))
    let headers = ["one", "two"].map { session.header(method: "GET", target: "/", cnonce: $0) }
    #expect(Self.field("cnonce", in: headers[1]) == "\"one\"" && Self.field("nc", in: headers[1]) == "00000002")
    #expect(Self.field("response", in: headers[0]) != Self.field("response", in: headers[1]))
  }

  /// Made without the parser, which might leave out what is odd.
  @Test(arguments: [
    ["realm": "r", "nonce": "n", "qop": "auth-int"], ["realm": "r", "nonce": "n", "qop": ""],
    ["realm": "r", "nonce": "n", "qop": "authority"], ["realm": "r", "nonce": "n", "qop": "auth int"],
    ["realm": "r", "nonce": "n", "algorithm": "SHA-1"], ["realm": "r", "nonce": "n", "algorithm": ""],
    ["realm": "r", "nonce": "n", "algorithm": "\u{17f}ha-256"], ["realm": "r"], ["nonce": "n"],
    ["realm": "r", "nonce": ""], ["realm": "r", "nonce": "n", "algorithm": "MD5-sess"],
  ])
  func unsupportedDigests(parameters: [String: String]) {
    let challenge = Challenge(scheme: .digest, parameters: parameters)
    #expect(!Authorization.isSupported(challenge) && Authorization.Session(challenge, Self.mufasa) == nil)
  }

  @Test(arguments: ["auth", "AUTH", "auth-int,auth", " auth , auth-int", "\tauth"])
  func qualities(quality: String) throws {
    let challenge = Challenge(scheme: .digest, parameters: ["realm": "r", "nonce": "n", "qop": quality])
    #expect(Authorization.isSupported(challenge))
    var session = try #require(Authorization.Session(challenge, Self.mufasa))
    #expect(Self.field("qop", in: session.header(method: "GET", target: "/", cnonce: "c")) == "auth")
  }

  @Test func otherSchemesAreSupported() {
    for scheme in [AuthScheme.basic, .bearer] {
      #expect(Authorization.isSupported(Challenge(scheme: scheme, parameters: [:])))
    }
  }

  /// What the answer is for goes into it: each difference makes another one.
  @Test(arguments: ["MD5", "SHA-256", "SHA-512-256", "MD5-sess", "SHA-256-sess", "SHA-512-256-sess"])
  func everythingCounts(algorithm: String) throws {
    func response(
      realm: String = "r", nonce: String = "n", user: String = "u", password: String = "p", method: String = "GET",
      target: String = "/", cnonce: String = "c", before: Int = 0
    ) throws -> Substring {
      let challenge = Challenge(
        scheme: .digest, parameters: ["realm": realm, "nonce": nonce, "qop": "auth", "algorithm": algorithm])
      var session = try #require(Authorization.Session(challenge, .password(user: user, password: password)))
      for _ in 0..<before { _ = session.header(method: method, target: target, cnonce: cnonce) }
      let header = session.header(method: method, target: target, cnonce: cnonce)
      return try #require(Self.field("response", in: header))
    }
    let all = [
      try response(), try response(realm: "R"), try response(nonce: "N"), try response(user: "U"),
      try response(password: "P"), try response(method: "HEAD"), try response(target: "/?"), try response(cnonce: "C"),
      try response(before: 1), try response(before: 2),
    ]
    #expect(Set(all).count == all.count)
    #expect(try response() == response(), "and nothing else does")
  }

  @Test func namesInOtherAlphabets() throws {
    let challenge = Challenge(scheme: .digest, parameters: ["realm": "r", "nonce": "n", "qop": "auth"])
    var session = try #require(Authorization.Session(challenge, .password(user: "é*'% /a~", password: "p")))
    let header = session.header(method: "GET", target: "/", cnonce: "c")
    #expect(Self.field("username*", in: header) == "UTF-8''%C3%A9%2A%27%25%20%2Fa~")
    #expect(Self.field("username", in: header) == nil)
  }

  @Test func anOldNonceIsReplacedWithinItsRealm() throws {
    func challenge(_ parameters: [String: String]) -> Challenge { Challenge(scheme: .digest, parameters: parameters) }
    let session = try #require(Authorization.Session(challenge(["realm": "r", "nonce": "n"]), Self.mufasa))
    let new = session.renewed(by: challenge(["realm": "r", "nonce": "m", "stale": "TRUE"]))
    #expect(new?.credential == Self.mufasa && new?.challenge.parameters["nonce"] == "m")
    let others = [
      ["realm": "R", "nonce": "m", "stale": "true"], ["realm": "", "nonce": "m", "stale": "true"],
      ["nonce": "m", "stale": "true"], ["realm": "r", "nonce": "m"], ["realm": "r", "nonce": "m", "stale": "false"],
    ]
    for parameters in others { #expect(session.renewed(by: challenge(parameters)) == nil, "\(parameters)") }
    #expect(session.renewed(by: Challenge(scheme: .basic, parameters: ["realm": "r", "stale": "true"])) == nil)
    let basic = try #require(
      Authorization.Session(Challenge(scheme: .basic, parameters: ["realm": "r"]), Self.mufasa))
    #expect(basic.renewed(by: challenge(["realm": "r", "nonce": "m", "stale": "true"])) == nil)
  }

  @Test func credentialsHaveALength() throws {
    let longest = String(repeating: "x", count: Authorization.maxBytes)
    #expect(Authorization.maxBytes == 4096)
    for challenge in [try Self.challenge("Basic realm=x"), try Self.digest("MD5")] {
      #expect(Authorization.Session(challenge, .password(user: longest, password: longest)) != nil)
    }
    #expect(Authorization.Session(try Self.challenge("Bearer"), .token(longest)) != nil)
  }

  @Test func basicAndBearer() throws {
    let basic = try Self.challenge("Basic realm=x")
    var session = try #require(Authorization.Session(basic, .password(user: "Aladdin", password: "open sesame")))
    #expect(session.header(method: "GET", target: "/", cnonce: "") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    // RFC 7617, 2.1.
    var pound = try #require(Authorization.Session(basic, .password(user: "test", password: "123£")))
    #expect(pound.header(method: "GET", target: "/", cnonce: "") == "Basic dGVzdDoxMjPCow==")
    var bearer = try #require(Authorization.Session(try Self.challenge("Bearer"), .token("mF_9.B5f-4.1JqM")))
    #expect(bearer.header(method: "GET", target: "/", cnonce: "") == "Bearer mF_9.B5f-4.1JqM")
  }

  @Test func credentialsDontBreakOut() throws {
    let (basic, digest, bearer) = (
      try Self.challenge("Basic realm=x"), try Self.digest("MD5"), try Self.challenge("Bearer")
    )
    for bad in ["a\r\nX: y", "a\0", "a\u{7f}", String(repeating: "x", count: 4097)] {
      for challenge in [basic, digest] {
        #expect(Authorization.Session(challenge, .password(user: bad, password: "p")) == nil)
        #expect(Authorization.Session(challenge, .password(user: "u", password: bad)) == nil)
      }
      #expect(Authorization.Session(bearer, .token(bad)) == nil)
    }
    #expect(Authorization.Session(digest, .password(user: "a\", uri=\"/", password: "p")) == nil)
    #expect(Authorization.Session(digest, .password(user: "a\\", password: "p")) == nil)
    #expect(Authorization.Session(basic, .password(user: "a:b", password: "p")) == nil)
    #expect(Authorization.Session(bearer, .token("")) == nil && Authorization.Session(bearer, .token("a b")) == nil)
    #expect(Authorization.Session(bearer, Self.mufasa) == nil && Authorization.Session(basic, .token("t")) == nil)
  }

  @Test func whatTheServerSaidIsQuotedAgain() throws {
    let challenge = try Self.challenge("Digest realm=\"a\\\"b\\\\c\", nonce=\"n\\\"\", qop=auth, opaque=\"o\\\\\"")
    var session = try #require(Authorization.Session(challenge, .password(user: "Jäsøn Doe", password: "p")))
    let header = session.header(method: "GET", target: "/a\"b", cnonce: "c\r\n\"")
    #expect(
      header.contains("realm=\"a\\\"b\\\\c\"") && header.contains("nonce=\"n\\\"\"")
        && header.contains("opaque=\"o\\\\\""))
    #expect(
      header.contains("uri=\"/a\\\"b\"") && header.contains("cnonce=\"c\\\"\"")
        && header.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe"))
    #expect(!header.utf8.contains(where: { $0 < 0x20 }))
  }

  /// FIPS 180-4 and the lengths at which the padding changes.
  @Test(
    arguments: [
      ("", "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"),
      ("abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
      (String(repeating: "a", count: 111), "0239e429f98d0ed61ee8e2a7c30afe98c1c3a80ce5dff62a107e9c538f7632ce"),
      (String(repeating: "a", count: 112), "9216b5303edb66504570bee90e48ea5beaa5e9fe9f760bbd3e0460559fc005f6"),
      (String(repeating: "a", count: 127), "2fe3b2a6ee7e12f6fe4ba82166541ad9b4ed882c493581cbe300d68f3757b778"),
      (String(repeating: "a", count: 128), "b88f97e274f9c1d49f181c8cbd01a9c74930ad055a46ac4499a1d601f1c80bf2"),
      (String(repeating: "a", count: 1000), "40eb4a70d4d69815407a9e272f0101cd67e3d11262a4a0bfc087712749c7fb53"),
      // RFC 7616, 3.9.2 (erratum 4897): the hash of a user name.
      ("Jäsøn Doe:api@example.org", "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b"),
    ].map { (Abbreviated($0.0), $0.1) })
  func sha512256(text: Abbreviated<String>, hex: String) {
    let found = DigestAlgorithm("SHA-512-256")?.hex(text.value)
    #expect(found == hex)
  }
}
