import DevelopmentOrigin
import Foundation
import StrictYAML
import Testing

@Suite(.timeLimit(.minutes(1))) struct FaultTests {
  static let content = Content.pseudoRandom(seed: 9, count: 100_000)

  private func answer(_ actions: String, headers: [String] = [], path: String = "/a") throws -> RawClient.Received {
    let script = try FaultScript(parsing: "version: 1\nrules: [{\(actions)}]", file: "s.yaml")
    let origin = try Origin {
      $0.resources["/a"] = Resource(Self.content)
      $0.script = script
    }
    defer { origin.stop() }
    return RawClient.get(origin.port, path, headers: headers)
  }

  @Test func endings() throws {
    let cut = try answer("end: {after: 1000}")
    #expect(cut.body == Self.content.bytes(in: 0..<1000) && cut.end == .closed)
    #expect(cut.header("Content-Length") == "100000")
    let reset = try answer("end: {after: 10, how: reset}")
    #expect(reset.end == .reset)
    let random = try answer("end: {after: random}")
    #expect(random.body.count < 100_000 && random.body == Self.content.bytes(in: 0..<random.body.count))
    #expect(try answer("end: {after: random}").body.count == random.body.count)
    let origin = try Origin {
      $0.resources["/a"] = Resource(Self.content)
      $0.handler = { _, _ in .cut(after: .byte(10), .silence) }
    }
    let client = RawClient(origin.port)
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
    let silent = client.receive(seconds: 1)
    #expect(silent.end == .timedOut && silent.body.count == 10)
    origin.stop()
    #expect(client.receive().end != .timedOut)
  }

  @Test func halfClosedClientsStillGetTheirAnswer() throws {
    let origin = try Origin { $0.handler = { _, _ in .raw("HTTP/1.1 200 OK\r\n\r\nx", ending: .halfClose) } }
    defer { origin.stop() }
    let client = RawClient(origin.port)
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
    client.finishSending()
    #expect(client.receive().text == "HTTP/1.1 200 OK\r\n\r\nx")
  }

  @Test func ranges() throws {
    let asked = ["Range: bytes=10-19"]
    #expect(try answer("range: ignored", headers: asked).body.count == 100_000)
    let unasked = try answer("range: unasked")
    #expect(unasked.status == 206 && unasked.header("Content-Range") == "bytes 50000-99999/100000")
    #expect(try answer("range: refused", headers: asked).header("Content-Range") == "bytes */100000")
    let bare = try answer("range: refusedWithoutLength", headers: asked)
    #expect(bare.status == 416 && bare.header("Content-Range") == nil)
    let shifted = try answer("range: {start: 1, end: 2, total: -3}", headers: asked)
    #expect(shifted.header("Content-Range") == "bytes 11-21/99997")
    #expect(shifted.body == Self.content.bytes(in: 10..<20))
  }

  @Test func rangesWithConditions() throws {
    let tag = try #require(try answer("probability: 0").header("ETag"))
    for (word, condition, status) in [
      ("ignoredWithIfRange", "If-Range: \(tag)", 200), ("ignoredWithIfRange", "If-Match: \(tag)", 206),
      ("ignoredWithIfRange", "If-Match: \"other\"", 412), ("ignoredWithIfRange", "X: y", 206),
      ("ignoredWithConditions", "If-Range: \(tag)", 200), ("ignoredWithConditions", "If-Match: \(tag)", 412),
      ("ignoredWithConditions", "X: y", 206),
    ] {
      let got = try answer("range: \(word)", headers: ["Range: bytes=10-19", condition])
      #expect(got.status == status, "\(word), \(condition)")
      if status != 412 { #expect(got.header("ETag") == tag && got.body.count == (status == 200 ? 100_000 : 10)) }
    }
    let parts = try answer("range: multipart", headers: ["Range: bytes=10-19"])
    #expect(parts.status == 206 && parts.header("Content-Range") == nil)
    #expect(parts.header("Content-Type") == "multipart/byteranges; boundary=THE-PART")
    #expect(String(decoding: parts.body, as: UTF8.self).contains("\r\nContent-Range: bytes 10-19/100000\r\n\r\n"))
    #expect(parts.header("Content-Length") == "\(parts.body.count)")
    #expect(try answer("range: multipart").status == 200)
  }

  @Test func entities() throws {
    let plain = try answer("probability: 0")
    let same = try answer("entity: {version: 2, etag: same}")
    #expect(same.header("ETag") == plain.header("ETag") && same.body.count == 100_000 && same.body != plain.body)
    let new = try answer("entity: {version: 2, length: -5}")
    #expect(new.header("ETag") != plain.header("ETag") && new.body.count == 99_995)
    #expect(try answer("entity: {etag: none}").header("ETag") == nil)
    #expect(try answer("entity: {etag: weak}").header("ETag")?.hasPrefix("W/\"") == true)
    let changed = try answer(
      "entity: {version: 2}", headers: ["Range: bytes=5-", "If-Range: \(plain.header("ETag") ?? "")"])
    #expect(changed.status == 200 && changed.body.count == 100_000)
    #expect(try answer("status: 412").status == 412)
  }

  @Test func lengthsAndFraming() throws {
    #expect(try answer("length: {by: -10}").header("Content-Length") == "99990")
    #expect(try answer("length: {by: 10}").body.count == 100_000)
    #expect(try answer("length: twice").headers("Content-Length") == ["100000", "100000"])
    #expect(try answer("length: contradicting").headers("Content-Length") == ["100000", "100001"])
    let both = try answer("length: withChunked")
    #expect(both.header("Content-Length") != nil && both.header("Transfer-Encoding") == "chunked")
    #expect(try answer("framing: untilClose").header("Content-Length") == nil)
    let chunked = try answer("framing: chunked")
    #expect(chunked.body.starts(with: Array("10000\r\n".utf8)) && chunked.body.suffix(7) == Array("\r\n0\r\n\r\n".utf8))
    #expect(try answer("framing: withoutLastChunk").body.suffix(2) == [13, 10])
    #expect(!(try answer("framing: withoutLastChunk").text.hasSuffix("0\r\n\r\n")))
    #expect(String(decoding: try answer("framing: badChunkSize").body, as: UTF8.self).contains("zz\r\n"))
    #expect(try answer("framing: {extension: 200kB}").body.starts(with: Array("1;x=xxxx".utf8)))
    let gzip = try answer("gzip: true")
    #expect(gzip.header("Content-Encoding") == "gzip" && gzip.body.starts(with: [0x1f, 0x8b]))
  }

  @Test func statusesAndHeaders() throws {
    let busy = try answer(
      "status: 503, reason: Too Busy, retryAfter: 7, headers: {X-A: b}, rawHeaders: ['x y: z'], remove: [Date]")
    #expect(
      busy.head.hasPrefix("HTTP/1.1 503 Too Busy\r\n") && busy.header("Retry-After") == "7" && busy.header("X-A") == "b"
    )
    #expect(busy.head.contains("\r\nx y: z") && busy.header("Date") == nil)
    #expect(try answer("status: 429, retryAfter: {date: -60}").header("Retry-After")?.hasSuffix(" GMT") == true)
    #expect(try answer("status: 429, retryAfter: soon").header("Retry-After") == "soon")
    #expect(try answer("status: 200, body: hi", headers: ["Range: bytes=0-0"]).body == Array("hi".utf8))
    #expect(try answer("body: {repeat: ab, size: 5}").body == Array("ababa".utf8))
    #expect(try answer("body: {resource: /a}", path: "/b").body == Self.content.bytes)
    #expect(try answer("garbage: 100").bytes.count == 100)
    #expect(try answer("raw: \"x\\r\\ny\"").text == "x\r\ny")
  }

  @Test func redirects() throws {
    #expect(try answer("redirect: loop").header("Location") == "/a")
    #expect(try answer("redirect: {hops: 2}").header("Location") == "/a?hop=1")
    #expect(try answer("redirect: {hops: 2}", path: "/a?hop=1").header("Location") == "/a?hop=2")
    #expect(try answer("redirect: {hops: 2}", path: "/a?hop=2").status == 200)
    let other = try answer("redirect: {to: '//{host}{path}', status: 307}")
    #expect(other.status == 307 && other.header("Location") == "//x/a")
    #expect(try answer("redirect: {to: \"/b\\r\\nX-Injected: 1\"}").header("X-Injected") == "1")
  }

  @Test func digestsAndFloods() throws {
    let right = try answer("probability: 0", headers: ["Want-Repr-Digest: sha-256=1"]).header("Repr-Digest")
    #expect(try answer("digest: wrong").header("Repr-Digest") != right)
    #expect(try answer("digest: unknownAlgorithm").header("Repr-Digest")?.hasPrefix("blake9=") == true)
    let two = try #require(try answer("digest: disagreeing").header("Repr-Digest"))
    #expect(two.hasPrefix(right ?? "?") && two.contains("sha-512="))
    #expect(try answer("flood: {fields: 1000}").head.contains("X-Flood-999: 999"))
    #expect(try answer("flood: {size: 200kB}").header("X-Huge")?.count == 200_000)
    let origin = try Origin { configuration in
      var reply = Reply()
      reply.flood = .endless
      configuration.handler = { [reply] _, _ in reply }
    }
    let client = RawClient(origin.port)
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(!client.receive(count: 1_000_000).text.contains("\r\n\r\n"))
    origin.stop()
  }

  @Test func timing() throws {
    func time(_ actions: String) throws -> Duration {
      let start = ContinuousClock.now
      _ = try answer(actions)
      return start.duration(to: .now)
    }
    #expect(try time("delay: {status: 200ms}") >= .milliseconds(200))
    #expect(try time("delay: {body: 200ms}") >= .milliseconds(200))
    #expect(try time("slices: {size: 25kB, pause: 50ms}") >= .milliseconds(200))
    #expect(try time("rate: 400kB") >= .milliseconds(240))
    #expect(try time("status: 503, delay: {headByte: 2ms}") >= .milliseconds(200))
  }

  @Test func turnsAndProbability() throws {
    let script = try FaultScript(
      parsing: """
        version: 1
        seed: 5
        rules:
          - {path: /on, on: 2, status: 500}
          - {path: /every, every: 3, status: 500}
          - {path: "/from/*", from: 2, until: 3, method: GET, status: 500}
          - {path: /half, probability: 0.5, status: 500}
        """, file: "s.yaml")
    func statuses(_ path: String, _ count: Int) throws -> [Bool] {
      let origin = try Origin { $0.script = script }
      defer { origin.stop() }
      return (0..<count).map { _ in RawClient.get(origin.port, path).status == 500 }
    }
    #expect(try statuses("/on", 3) == [false, true, false])
    #expect(try statuses("/every", 6) == [false, false, true, false, false, true])
    #expect(try statuses("/from/x", 4) == [false, true, true, false])
    #expect(try statuses("/from/x/y", 2) == [false, false])
    let half = try statuses("/half", 200)
    #expect((60...140).contains(half.filter { $0 }.count))
    #expect(try statuses("/half", 200) == half)
  }

  @Test(
    arguments: [
      ("", 1, 1, "version: 1"), ("version: 2", 1, 10, "version 1"), ("rules: []", 1, 1, "version: 1"),
      ("version: 1\nrulez: []", 2, 1, "known keys are version, seed, rules"),
      ("version: 1\nrules: [{pth: /a}]", 2, 10, "path, method"),
      ("version: 1\nrules: [{path: a}]", 2, 16, "starts with '/'"),
      ("version: 1\nrules: [{status: 99}]", 2, 18, "100 to 999"),
      ("version: 1\nrules: [{on: 1, on: 2}]", 2, 10, "twice"),
      ("version: 1\nrules: [{on: 1, every: 2}]", 2, 9, "'on'"),
      ("version: 1\nrules: [{probability: 2}]", 2, 23, "0 to 1"),
      ("version: 1\nrules: [{end: explode}]", 2, 15, "close, reset, halfClose, silence"),
      ("version: 1\nrules: [{from: 3, until: 2}]", 2, 9, "never holds"),
      ("version: 1\nrules: [{rate: fast}]", 2, 16, "8MiB"),
      ("version: 1\nrules: [{delay: {status: soon}}]", 2, 26, "300ms"),
      ("version: 1\nrules: &a []", 2, 8, "a script has no anchors"),
      ("version: 1\nconnections: [{certificate: stale}]", 2, 29, "expired, notYetValid"),
      ("version: 1\nconnections: [{on: 1}]", 2, 15, "certificate and accept"),
      ("version: 1\nrules: [{body: {size: 1}}]", 2, 16, "repeat"),
    ] as [(String, Int, Int, String)])
  func refusesScripts(_ text: String, _ line: Int, _ column: Int, _ sentence: String) {
    #expect {
      try FaultScript(parsing: text, file: "s.yaml")
    } throws: { error in
      guard let error = error as? YAMLFileError else { return false }
      return error.line == line && error.column == column && error.message.contains(sentence)
    }
  }

  @Test func readsTheExample() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("Examples/bad-day.yaml"), encoding: .utf8)
    let script = try FaultScript(parsing: text, file: "bad-day.yaml")
    #expect(script.rules.count > 40 && script.connections.count == 3)
  }
}
