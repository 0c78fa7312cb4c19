import Foundation
import Glibc
import ServiceClient
import ServiceProtocol
import TestSupport
import Testing

/// What no client of ours would do: each is answered or cut off, and the others are served.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct HostileClientTests {
  /// A socket without any manners.
  final class RawSocket {
    let number: Int32

    init(_ path: String) throws {
      number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let descriptor = number
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      guard result == 0 else { throw ServiceWorld.Trouble(description: "connect: \(errno)") }
      var limit = timeval(tv_sec: 20, tv_usec: 0)
      setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(number) }

    func send(_ bytes: [UInt8]) { _ = Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    func send(_ message: ClientMessage) throws { send(try FrameCodec.encode(message)) }

    /// Whether all of it went.
    func sendAll(_ bytes: [UInt8]) -> Bool {
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes {
          Glibc.send(number, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
        if count <= 0 { return false }
        sent += count
      }
      return true
    }

    /// What the service says instead of taking the connection; nil: nothing.
    func refusal() -> String? {
      var assembler = FrameAssembler()
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(number, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        assembler.append(buffer[0..<count])
        guard let frame = try? assembler.next() else { continue }
        guard case .failure(0, let failure)? = try? FrameCodec.decode(ServiceMessage.self, from: frame) else {
          return nil
        }
        return failure.message
      }
    }

    /// The requests that so many messages answer.
    func answered(_ count: Int) -> Set<UInt64> {
      var assembler = FrameAssembler()
      var buffer = [UInt8](repeating: 0, count: 65536)
      var answered: [UInt64] = []
      while answered.count < count {
        let received = recv(number, &buffer, buffer.count, 0)
        guard received > 0 else { break }
        assembler.append(buffer[0..<received])
        while let frame = try? assembler.next() {
          guard case .reply(let id, _)? = try? FrameCodec.decode(ServiceMessage.self, from: frame) else { return [] }
          answered.append(id)
        }
      }
      return answered.count == count ? Set(answered) : []
    }

    /// Whether the service ends the connection; whatever it says before is dropped.
    func isClosed() -> Bool {
      var buffer = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = recv(number, &buffer, buffer.count, 0)
        if count == 0 { return true }
        if count < 0 { return errno == ECONNRESET }
      }
    }
  }

  private static let hello = ClientMessage.request(id: 1, request: .hello(Hello(role: .operator)))

  private func world() throws -> ServiceWorld {
    let world = try ServiceWorld()
    try world.start()
    return world
  }

  @Test(
    "What isn't a frame ends the connection, and no other",
    arguments: [
      [0x7f, 0xff, 0xff, 0xff], [0, 0, 0, 0], [0, 0, 0, 2, 0x7b, 0x7d], [0, 0, 0, 4, 1, 2, 3, 4],
      Array("GET / HTTP/1.1\r\n\r\n".utf8),
    ] as [[UInt8]])
  func garbage(bytes: [UInt8]) async throws {
    let world = try world()
    let other = try await world.connect()
    let socket = try RawSocket(world.paths.socket)
    socket.send(bytes)
    #expect(socket.isClosed())
    #expect(try await other.request(.apps(app: nil)) == .apps([]))
  }

  @Test("Who doesn't say who it is is cut off; half a frame doesn't count")
  func silence() async throws {
    let world = try world()
    let silent = try RawSocket(world.paths.socket)
    let half = try RawSocket(world.paths.socket)
    half.send(Array(try FrameCodec.encode(Self.hello).dropLast()))
    #expect(silent.isClosed())
    #expect(half.isClosed())
  }

  @Test("A process that is no installed app's is told so, and an app may not ask what operators ask")
  func roles() async throws {
    let world = try world()
    await #expect { _ = try await world.connect(Hello(role: .app)) } throws: { ($0 as? ServiceFailure)?.code == 55 }
    world.publish(["e1": 1])
    _ = try await world.install(world.bundle())
    try await world.waitUntilOpen()
    let app = try await world.connect(Hello(role: .operator, launches: ServiceWorld.app))
    for request: ClientRequest in [
      .apps(app: nil), .stop, .uninstall(app: ServiceWorld.app), .settings, .watch(app: nil),
      .set(key: "isLowPower", value: "true", app: nil),
    ] {
      await #expect { _ = try await app.request(request) } throws: { ($0 as? ServiceFailure)?.code == 55 }
    }
    #expect(try await world.summary()?.state == .running)
  }

  @Test("Who asks without reading is held up alone")
  func doesNotRead() async throws {
    let world = try world()
    let rude = try RawSocket(world.paths.socket)
    try rude.send(Self.hello)
    _ = fcntl(rude.number, F_SETFL, O_NONBLOCK)
    for id in 2..<20_000 as Range<UInt64> { try rude.send(.request(id: id, request: .settings)) }
    let other = try await world.connect()
    for _ in 0..<100 { #expect(try await other.request(.apps(app: nil)) == .apps([])) }
  }

  @Test("Foreign groups, bad addresses and essential downloads are refused with their codes (6.2)")
  func badDownloads() async throws {
    let world = try world()
    world.publish(["e1": 1])
    _ = try await world.install(world.bundle())
    try await world.waitUntilOpen()
    let app = try await world.connect(Hello(role: .operator, launches: ServiceWorld.app))
    func download(_ change: (inout DownloadValue) -> Void) -> DownloadValue {
      var value = DownloadValue(
        identifier: "d", uniqueIdentifier: UUID().uuidString, url: world.origin.url("/e1"),
        applicationGroupIdentifier: ServiceWorld.group, fileSize: 1)
      change(&value)
      return value
    }
    let cases: [(Int, DownloadValue)] = [
      (55, download { $0.applicationGroupIdentifier = "group.of.others" }), (102, download { $0.fileSize = 0 }),
      (102, download { $0.fileSize = -5 }), (102, download { $0.priority = 101 }),
      (102, download { $0.url = "http://example.com/" }), (102, download { $0.url = "" }),
      (109, download { $0.isEssential = true }), (102, download { $0.identifier = "" }),
    ]
    for (code, value) in cases {
      await #expect("\(code) \(value)") { _ = try await app.request(.schedule(download: value)) } throws: {
        ($0 as? ServiceFailure)?.code == code
      }
    }
    #expect(try await app.request(.currentDownloads) == .downloads([]))
  }
}
