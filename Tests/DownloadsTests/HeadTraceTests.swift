import Basics
import DevelopmentOrigin
import Synchronization
import Testing

@testable import Downloads

/// Heads that are shown to a person: all that helps, no secret, and nothing that a terminal obeys.
@Suite(.timeLimit(.minutes(1))) struct HeadTraceTests {
  private static func lines(_ text: String) -> [String] { HeadTrace.lines(Array(text.utf8)) }

  @Test(
    arguments: [
      ("GET /a HTTP/1.1\r\nHost: a\r\n\r\nbody: 1\r\n", ["GET /a HTTP/1.1", "Host: a"]),
      ("GET /a?token=xyz&b HTTP/1.1\r\n\r\n", ["GET /a?… HTTP/1.1"]),
      ("GET /a HTTP/1.1\r\nAuthorization: Bearer xyz\r\n\r\n", ["GET /a HTTP/1.1", "Authorization: (hidden)"]),
      ("G\r\nproxy-AUTHORIZATION: xyz\r\n\r\n", ["G", "proxy-AUTHORIZATION: (hidden)"]),
      ("G\r\nAuthorization : xyz\r\n\r\n", ["G", "Authorization : (hidden)"]),
      ("G\r\nCookie: a=xyz\r\nX-Api-Key: xyz\r\n\r\n", ["G", "Cookie: (hidden)", "X-Api-Key: (hidden)"]),
      ("HTTP/1.1 200 OK?\r\nSet-Cookie: xyz\r\n\r\n", ["HTTP/1.1 200 OK?", "Set-Cookie: (hidden)"]),
      // Folded.
      (
        "H\r\nSet-Cookie: a\r\n xyz\r\n\txyz\r\nB: c\r\n",
        ["H", "Set-Cookie: (hidden)", "(hidden)", "(hidden)", "B: c"]
      ),
      ("H\nLocation: https://me:xyz@h/p?sig=xyz\n\n", ["H", "Location: https://(hidden)@h/p?…"]),
      ("H\nLocation: https://h/p#access_token=xyz\n\n", ["H", "Location: https://h/p#…"]),
      ("H\nLocation: #xyz\n\n", ["H", "Location: #…"]),
      ("H\nLink: <https://h/p#xyz>; rel=next\nA: b #1\n\n", ["H", "Link: <https://h/p#…>; rel=next", "A: b #1"]),
      ("H\nLocation: https:\\/\\/me:xyz@h/p\n\n", ["H", "Location: (hidden)@h/p"]),
      ("H\nLocation: https://me:xyz xyz@h/p\n\n", ["H", "Location: (hidden)@h/p"]),
      ("H\nLocation: https:///me:xyz@h/p\n\n", ["H", "Location: (hidden)@h/p"]),
      ("H\nLocation: https:me:xyz@h/p\n\n", ["H", "Location: (hidden)@h/p"]),
      ("H\nLocation: https://h/@me/p\n\n", ["H", "Location: https://h/@me/p"]),
      ("H\nLocation: https://me:xyz@\u{301}h/p\n\n", ["H", "Location: https://(hidden)@\u{301}h/p"]),
      ("H\nLocation: https:/\u{301}/me@h//\u{301}me:xyz@h\n\n", ["H", "Location: https:/\u{301}/me@h//(hidden)@h"]),
      ("H\r\nLink: <https://xyz@h/p>, <//u:xyz@i>\r\n\r\n", ["H", "Link: <https://(hidden)@h/p>, <//(hidden)@i>"]),
      ("H\r\nLink: </p?a=xyz&b>; rel=next, <?xyz>\r\n\r\n", ["H", "Link: </p?…>; rel=next, <?…>"]),
      ("H\r\nRefresh: 0; url=/p?a=xyz;b=xyz\r\nA: what? b?c\r\n\r\n", ["H", "Refresh: 0; url=/p?…", "A: what? b?c"]),
      ("H\r\nRefresh: 0;url=?xyz\r\nX: \"//h/?xyz\"\r\n\r\n", ["H", "Refresh: 0;url=?…", "X: \"//h/?…\""]),
      (
        "H\r\nX-Auth: xyz\r\nOcp-Apim-Subscription-Key: xyz\r\nSession: xyz\r\nX-Amz-Signature: xyz\r\n\r\n",
        [
          "H", "X-Auth: (hidden)", "Ocp-Apim-Subscription-Key: (hidden)", "Session: (hidden)",
          "X-Amz-Signature: (hidden)",
        ]
      ),
      ("H\r\nWWW-Authenticate: Basic realm=x\r\n\r\n", ["H", "WWW-Authenticate: Basic realm=x"]),
      ("H\r\nMail: me@example.com\r\n\r\n", ["H", "Mail: me@example.com"]),
      ("H\r\nX: \u{1b}[31m\u{202e}\u{9b}\r\n\r\n", ["H", #"X: \u{1b}[31m\u{202e}\u{9b}"#]),
      ("", []), ("\r\n", []), ("H", ["H"]),
    ] as [(String, [String])])
  func table(text: String, lines: [String]) {
    let found = Self.lines(text)
    #expect(found == lines)
    #expect(!found.joined().contains("xyz"))
  }

  @Test("of a request only fields are shown that let nobody in, whatever the others are called") func requests() {
    let shown = [
      "GET /a?… HTTP/1.1", "Host: a", "Accept-Encoding: identity", "Range: bytes=5-", "If-Range: \"x\"",
      "User-Agent: b",
      "Content-Type: c", "Cache-Control: no-cache", "Want-Repr-Digest: sha-256=10", "Referer: https://h/?…",
    ]
    let hidden = ["Cookie", "Authorization", "X-Anything", "Acceptance", "WWW-Authenticate", "Private"]
    let text = shown.map { $0.replacing("…", with: "xyz") } + hidden.map { "\($0): xyz" } + ["", ""]
    let found = HeadTrace.lines(Array(text.joined(separator: "\r\n").utf8), isSent: true)
    #expect(found == shown + hidden.map { "\($0): (hidden)" })
  }

  /// Whatever comes: no secret, no control character, and an end.
  @Test func random() {
    var random = SeededGenerator(seed: 7)
    let parts = [
      "Authorization", "cookie", "Set-Cookie", ":", " ", "\r\n", "\n", "\t", "xyz", "//", "@", "?", "\u{1b}", "\0",
      "HTTP/1.1 ",
    ]
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in parts.randomElement(using: &random)! }
        .joined()
      let head = "GET / HTTP/1.1\r\nAuthorization:" + text.filter { $0 != "\r\n" && $0 != "\n" } + "\r\n" + text
      let lines = Self.lines(head)
      #expect(lines[1] == "Authorization: (hidden)", "\(head.debugDescription)")
      for line in lines { #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 }) }
    }
  }

  @Test func answersComeLineByLine() {
    let heads = Mutex<[TracedHead]>([])
    var trace = HeadTrace(url: "https://a/b") { head in heads.withLock { $0.append(head) } }
    func receive(_ text: String) { Array(text.utf8).withUnsafeBytes { trace.received($0) } }
    for line in ["HTTP/1.1 103 Early\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n", "\r\n"] { receive(line) }
    let expected = [["HTTP/1.1 103 Early"], ["HTTP/1.1 200 OK", "A: b"]]
    #expect(heads.withLock { $0.map(\.lines) } == expected)
    // More than any head has: what is too much is dropped.
    for _ in 0..<2000 { receive("X: \(String(repeating: "a", count: 100))\r\n") }
    receive("\r\n")
    #expect(heads.withLock { $0[2].lines.joined().utf8.count } <= HeadTrace.longest)
  }

  @Test("a request and its answer, as they were on the wire, also where a handle is used again")
  func onTheWire() async throws {
    let heads = Mutex<[TracedHead]>([])
    let trial = try await Trial.run(
      options: { $0.transport.observesHeads = { head in heads.withLock { $0.append(head) } } },
      reply: { _, nth in nth == 1 ? .half : nil })
    #expect(trial.isFinished)
    let seen = heads.withLock { $0 }
    #expect(seen.map(\.direction) == [.sent, .received, .sent, .received], "\(seen)")
    #expect(seen[0].lines.first == "GET /file HTTP/1.1" && seen[1].lines.first == "HTTP/1.1 200 OK")
    #expect(seen[2].lines.contains { $0.hasPrefix("Range: bytes=") } && seen[3].lines.first?.contains("206") == true)
    #expect(seen.allSatisfy { $0.url.hasSuffix("/file") })
  }
}
