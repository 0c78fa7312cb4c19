import DevelopmentOrigin
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct LifeTests {
  /// Asks each socket itself: a table of the kernel's is read in pieces, and leaves out what moves in it meanwhile.
  private static func sockets(of origin: Origin) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout.size(ofValue: address))
      return withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(Int32(name) ?? -1, $0, &size) == 0 }
      } && address.sin_family == sa_family_t(AF_INET) && UInt16(bigEndian: address.sin_port) == origin.port
    }
  }

  @Test func stopLeavesNothing() throws {
    var reply = Reply.cut(after: .byte(1), .silence)
    reply.timing.beforeBody = .seconds(60)
    let origin = try Origin {
      $0.resources["/a"] = Resource(.pseudoRandom(seed: 1, count: 100_000_000))
      $0.handler = { [reply] request, _ in request.query == nil ? reply : nil }
    }
    // Waiting for a request, for time, for the reader, for the writer.
    let clients = (0..<8).map { _ in RawClient(origin.port) }
    for (index, client) in clients.enumerated() {
      client.send(
        ["", "GET /a HT", "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a?x HTTP/1.1\r\nHost: x\r\n\r\n"][index % 4])
    }
    _ = clients[2].receive(count: 10)
    _ = clients[3].receive(count: 10)
    #expect(try Self.sockets(of: origin) > 1)
    let start = ContinuousClock.now
    origin.stop()
    origin.stop()
    #expect(start.duration(to: .now) < .seconds(2))
    #expect(try Self.sockets(of: origin) == 0)
  }

  @Test func severalOriginsOnTheirOwnAddresses() throws {
    let origins = try ["127.0.0.1", "127.0.0.2", "127.3.2.1", "::1"].map { address in
      try Origin {
        $0.address = address
        $0.resources["/"] = Resource(.text(address))
      }
    }
    #expect(RawClient(origins[1].port, address: "127.0.0.2").ask() == "127.0.0.2")
    #expect(RawClient(origins[2].port, address: "127.3.2.1").ask() == "127.3.2.1")
    #expect(origins[3].url.hasPrefix("http://[::1]:"))
    #expect(throws: OriginError.self) { try Origin { $0.port = origins[0].port } }
    #expect(throws: OriginError.self) { try Origin { $0.address = "localhost" } }
    #expect(throws: OriginError.self) { try Origin { $0.directory = "/nonexistent" } }
    for origin in origins { origin.stop() }
  }

  @Test func connectionsMeetTheirFaults() throws {
    let script = try FaultScript(
      parsing: "version: 1\nconnections: [{on: 1, accept: reset}, {on: 2, accept: silence}]", file: "s.yaml")
    let origin = try Origin { $0.script = script }
    defer { origin.stop() }
    let request = "GET / HTTP/1.0\r\n\r\n"
    let reset = RawClient(origin.port)
    #expect(reset.receive().end == .reset)
    let silent = RawClient(origin.port)
    silent.send(request)
    #expect(silent.receive(seconds: 1).end == .timedOut)
    #expect(RawClient.get(origin.port, "/").status == 404)
  }

  @Test func waitsForRequests() async throws {
    let origin = try Origin { $0.resources["/a"] = Resource(.text("a")) }
    defer { origin.stop() }
    #expect(await origin.requests(count: 1, within: .milliseconds(20)).isEmpty)
    async let two = origin.requests(count: 2, within: .seconds(10))
    _ = RawClient.get(origin.port, "/a")
    _ = RawClient.get(origin.port, "/b")
    #expect(await two.map(\.path) == ["/a", "/b"])
    origin.reset()
    #expect(origin.requests.isEmpty)
  }
}

extension RawClient {
  fileprivate func ask() -> String {
    send("GET / HTTP/1.0\r\n\r\n")
    return String(decoding: receive().body, as: UTF8.self)
  }
}
