import DevelopmentOrigin
import Testing

@Suite(.timeLimit(.minutes(1))) struct OriginTests {
  @Test func servesAndRecords() async throws {
    let content = Content.pseudoRandom(seed: 7, count: 300_001)
    let origin = try Origin { $0.resources["/a b"] = Resource(content) }
    defer { origin.stop() }
    let reply = RawClient.get(origin.port, "/a%20b?x=1", headers: ["X-One:  1 ", "Range: bytes=100-299999"])
    #expect(reply.status == 206)
    #expect(reply.header("Content-Range") == "bytes 100-299999/300001")
    #expect(reply.body == content.bytes(in: 100..<300_000))
    let requests = await origin.requests(count: 1, within: .seconds(5))
    #expect(requests.map(\.path) == ["/a b"])
    #expect(requests.map(\.query) == ["x=1"])
    #expect(requests.first?.header("x-one") == "1")
  }

  @Test func keepsConnectionsAlive() throws {
    let origin = try Origin { $0.resources["/a"] = Resource(.text("hello")) }
    defer { origin.stop() }
    let client = RawClient(origin.port)
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nHEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
    client.send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    let received = client.receive()
    #expect(received.text.split(separator: "HTTP/1.1 200 OK").count == 3)
    #expect(origin.requests.map(\.nth) == [1, 2, 3])
    #expect(Set(origin.requests.map(\.connection)) == [1])
  }
}
