import Basics
import DevelopmentOrigin
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct HostileRequestTests {
  @Test func servesNothingOutside() throws {
    let root = NSTemporaryDirectory() + "origin-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: root + "/served/sub", withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    try "secret".write(toFile: root + "/secret", atomically: false, encoding: .utf8)
    try "inside".write(toFile: root + "/served/sub/a#b.txt", atomically: false, encoding: .utf8)
    try FileManager.default.createSymbolicLink(atPath: root + "/served/link", withDestinationPath: root + "/secret")
    try FileManager.default.createSymbolicLink(atPath: root + "/served/up", withDestinationPath: "..")
    mkfifo(root + "/served/fifo", 0o600)
    let origin = try Origin { $0.directory = root + "/served" }
    defer { origin.stop() }
    for path in [
      "/../secret", "/%2e%2e/secret", "/sub/../../secret", "/sub/..%2f..%2fsecret", "//../secret", "/./../secret",
      "/link",
      "/up/secret", "/up/", "/fifo", "/\(root)/secret", "/sub%00/../../secret", "/..%5csecret", "/%c0%ae%c0%ae/secret",
      "/sub/a%23b.txt/", "/proc/self/root/etc/passwd",
    ] {
      let reply = RawClient.get(origin.port, path)
      #expect(reply.status == 404 || reply.status == 400, "\(path)")
      #expect(!reply.text.contains("root:") && reply.body != Array("secret".utf8), "\(path)")
    }
    #expect(RawClient.get(origin.port, "/sub/a%23b.txt").body == Array("inside".utf8))
    #expect(RawClient.get(origin.port, "/sub").header("Location") == "/sub/")
    let listing = RawClient.get(origin.port, "/sub/").text
    #expect(listing.contains("<a href=\"./a%23b.txt\">a#b.txt</a>"))
    #expect(!RawClient.get(origin.port, "/").text.contains("link"))
  }

  @Test(
    arguments: [
      ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), ("GET /\r\n\r\n", 400),
      ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("GET / HTTP/1.2\r\nHost: a\r\nConnection: close\r\n\r\n", 404),
      ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", 505), ("GET / HTTP/1.2\r\n\r\n", 400),
      ("GET / SPDY\r\nHost: a\r\n\r\n", 400),
      ("GET / HTTP/1.1\nHost: a\n\n", 400),
      ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{1}\r\n\r\n", 400),
      ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", 413),
      ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab", 405),
      ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
      ("GET http://b/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404),
      ("GET / HTTP/1.0\r\n\r\n", 404), ("\r\nGET / HTTP/1.0\r\n\r\n", 404),
      ("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
      ("GET / HTTP/1.1\r\n\(String(repeating: "a: b\r\n", count: 300))\r\n", 431),
      ("GET / HTTP/1.1\r\na: \(String(repeating: "b", count: 70_000))\r\n\r\n", 431),
    ].map { (Abbreviated($0.0), $0.1) })
  func checks(_ request: Abbreviated<String>, _ status: Int) throws {
    let origin = try Origin { _ in }
    defer { origin.stop() }
    let client = RawClient(origin.port)
    client.send(request.value)
    let reply = client.receive()
    #expect(reply.status == status)
    #expect(reply.end == .closed)
  }

  @Test("it answers mutated requests, or closes, and goes on", arguments: 0..<4)
  func survivesMutatedRequests(quarter: Int) throws {
    let origin = try Origin { $0.resources["/a"] = Resource(.text("hello")) }
    defer { origin.stop() }
    let seeds = [
      "GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=1-2\r\nIf-Range: \"x\"\r\nConnection: close\r\n\r\n",
      "HEAD /a?b=c HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"a\", W/\"b\"\r\nWant-Repr-Digest: sha-256=1\r\n\r\n",
      "POST http://h/%41 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
    ].map { Array($0.utf8) }
    var generator = SeededGenerator(seed: 1)
    func mutated(_ seed: [UInt8]) -> [UInt8] {
      var bytes = seed
      for _ in 0...Int.random(in: 0..<4, using: &generator) {
        let at = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: bytes[at] = UInt8.random(in: .min ... .max, using: &generator)
        case 1: bytes.remove(at: at)
        case 2: bytes.insert([13, 10, 0, 32, 58, 37][Int.random(in: 0..<6, using: &generator)], at: at)
        case 3: bytes.insert(contentsOf: bytes[at...].prefix(20), at: at)
        default: bytes.removeSubrange(at..<min(at + 5, bytes.count - 1))
        }
        if bytes.isEmpty { bytes = [0] }
      }
      return bytes
    }
    // All of them are made, so that each quarter sends its own of the same sequence.
    let requests = (0..<20_000).map { mutated(seeds[$0 % seeds.count]) }
    // Several at once: one after the other each would wait for two threads to be woken, which on a busy machine takes longer than
    // everything else.
    let together = 50
    for first in stride(from: quarter * 5000, to: (quarter + 1) * 5000, by: together) {
      let clients = (first..<first + together).map { index in
        let client = RawClient(origin.port)
        client.send(requests[index])
        client.finishSending()
        return (index, client)
      }
      for (index, client) in clients {
        let reply = client.receive()
        #expect(
          reply.end != .timedOut && (reply.bytes.isEmpty || reply.text.hasPrefix("HTTP/1.1 ")),
          "round \(index)")
      }
    }
    #expect(RawClient.get(origin.port, "/a").body == Array("hello".utf8))
  }
}
