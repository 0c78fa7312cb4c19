import AssetModel
import DevelopmentOrigin
import Foundation
import Glibc
import Testing

@testable import Downloads

/// The window of a connection that a body comes on, while it comes.
@Suite(.timeLimit(.minutes(1))) struct ReceiveSocketTests {
  private final class Client: TransportClient {
    var received = 0
    var end: TransportEnd?

    func transfer(_ id: TransferID, answered head: ResponseHead) -> HeadVerdict { .take }
    func transfer(_ id: TransferID, sentHostileHead failure: HeadFailure, overHTTP2: Bool) {}
    func transferConnected(_ id: TransferID) {}
    func transfer(_ id: TransferID, received bytes: UnsafeRawBufferPointer) -> DataVerdict {
      received += bytes.count
      return .taken
    }
    func transfer(_ id: TransferID, ended end: TransportEnd) { self.end = end }
  }

  /// A transport with its client, on one thread.
  private struct Exchange {
    let transport: CurlTransport
    let client = Client()
    let url: ParsedURL

    private static var loopback: AddressPolicy {
      var policy = AddressPolicy()
      policy.allowsLoopback = true
      return policy
    }

    init(_ url: String) throws {
      transport = try CurlTransport(TransportOptions(addresses: Self.loopback))
      transport.client = client
      self.url = try ParsedURL(url)
    }

    func ask(_ id: TransferID, until isEnough: (Client) -> Bool) {
      (client.received, client.end) = (0, nil)
      transport.start(TransportRequest(url: url, headers: []), as: id)
      // Within the suite's time limit.
      while !isEnough(client) { transport.poll { .milliseconds(20) } }
    }
  }

  /// Of our end of the connection to a port.
  private func clamp(ofConnectionTo port: UInt16) -> Int32? {
    for descriptor in Int32(3)..<4096 {
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
      }
      guard result == 0, address.sin_family == sa_family_t(AF_INET), UInt16(bigEndian: address.sin_port) == port
      else { continue }
      var value: Int32 = 0
      var size = socklen_t(4)
      guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, &size) == 0 else { continue }
      return value
    }
    return nil
  }

  @Test("the window is narrowed while the body comes, on a connection that served before, too")
  func narrowed() throws {
    let origin = try Origin {
      $0.resources["/file"] = Resource(Content.pseudoRandom(seed: 1, count: 300_000))
      $0.handler = { _, nth in
        nth == 1 ? Reply() : .with { $0.ending = .init(.silence, after: .byte(100_000)) }
      }
    }
    defer { origin.stop() }
    let exchange = try Exchange(origin.url("/file"))
    let transport = exchange.transport
    #expect(transport.receiveSample(of: TransferID(number: 1)) == nil, "there is no such transfer")
    exchange.ask(TransferID(number: 1)) { $0.end != nil }
    #expect(exchange.client.received == 300_000)
    #expect(transport.receiveSample(of: TransferID(number: 1)) == nil, "it is over")

    let second = TransferID(number: 2)
    exchange.ask(second) { $0.received == 100_000 }
    #expect(Set(origin.requests.map(\.connection)).count == 1)
    let sample = try #require(transport.receiveSample(of: second))
    #expect(sample.receivedBytes >= 400_000)
    let port = try #require(UInt16(exactly: URLComponents(string: origin.url(""))?.port ?? 0))
    transport.limitWindow(of: second, to: 65_536)
    #expect(try #require(clamp(ofConnectionTo: port)) <= 65_536)
    // Whoever has it next may be in a hurry.
    #expect(transport.cancel(second) > 100_000)
  }
}
