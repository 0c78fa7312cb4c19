import AssetModel
import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct ChallengeHeaderTests {
  static func shown(_ values: [String]) -> [String] {
    Challenge.parse(values).map { challenge in
      ([challenge.scheme.rawValue] + challenge.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
        .joined(separator: "|")
    }
  }

  @Test(arguments: [
    (["Basic realm=\"a, b\""], ["basic|realm=a, b"]), (["basic realm=x"], ["basic|realm=x"]), (["Basic"], ["basic"]),
    (["Basic realm=\"q\\\"u\\\\o\""], ["basic|realm=q\"u\\o"]),
    (
      ["Digest realm=\"r\", nonce=\"n\", qop=\"auth,auth-int\", Basic realm=\"b\""],
      ["digest|nonce=n|qop=auth,auth-int|realm=r", "basic|realm=b"]
    ),
    (["Basic realm=\"b\"", "Bearer"], ["bearer", "basic|realm=b"]),
    (["Negotiate, Basic realm=\"b\""], ["basic|realm=b"]),
    (["Negotiate YII=, Basic realm=b"], ["basic|realm=b"]), (["NTLM, Negotiate"], []), (["Bearer abc="], []),
    (
      ["Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\""],
      ["basic|realm=simple"]
    ),
    ([" , Basic  realm = \"x\" ,, charset=\"UTF-8\""], ["basic|charset=UTF-8|realm=x"]),
    (["Basic realm=a, REALM=b"], ["basic|realm=a"]),
    (["Basic realm=\"a\", Digest realm=\"never ends"], ["basic|realm=a"]), (["Basic realm=\"never ends"], []),
    (["Basic realm=\"a\"x"], []), (["Basic realm="], []), (["Basic realm=\"a\u{1}b\""], []), (["Basic;realm=x"], []),
    ([""], []), ([","], []),
    (["\u{17f}asic realm=x", "Ba\u{17f}ic realm=x"], []),
    (
      ["Digest algorithm=MD5, nonce=1", "Digest algorithm=SHA-256, nonce=2"],
      ["digest|algorithm=SHA-256|nonce=2", "digest|algorithm=MD5|nonce=1"]
    ),
  ])
  func reads(values: [String], expected: [String]) {
    #expect(Self.shown(values) == expected)
  }

  @Test func schemesAreOrderedByStrength() {
    #expect(AuthScheme.basic < .digest && AuthScheme.digest < .bearer)
    let strengths = Challenge.parse([
      "Digest algorithm=SHA-512-256, Digest algorithm=MD5, Bearer, Basic, Digest algorithm=SHA-256"
    ]).map(\.strength)
    #expect(strengths.count == 5 && strengths == strengths.sorted().reversed())
  }

  @Test func hostileListsAreBounded() {
    #expect(Challenge.parse([[String](repeating: "Basic", count: 1000).joined(separator: ",")]).count == 32)
    #expect(Challenge.parse(["Basic " + (0..<65).map { "a\($0)=b" }.joined(separator: ",")]).isEmpty)
    #expect(Challenge.parse(["Basic realm=\"" + String(repeating: "x", count: 9000) + "\""]).isEmpty)
    #expect(Challenge.parse([String](repeating: "Basic", count: 100)).count == 16)
  }

  @Test(arguments: 1...100 as ClosedRange<UInt64>) func survivesAnything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = [
      "Basic", "Digest", " ", ",", "=", "\"", "\\", "realm", "a", "\t", "\u{fffd}", "==", "\u{1}", "Bearer x",
    ]
    for _ in 0..<200 {
      let count = Int.random(in: 0...15, using: &random)
      let value = (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &random)] }.joined()
      for challenge in Challenge.parse([value]) {
        #expect(
          challenge.parameters.values.allSatisfy { !$0.utf8.contains(where: { $0 < 0x20 && $0 != 9 }) },
          "seed \(seed): \(value)")
      }
    }
  }
}
