import Basics
import CLinux
import Foundation
import Glibc
import LinuxSystem
import Sandbox
import Synchronization
import TestSupport
import Testing

@testable import PluginHost

/// The relay between real sockets: servers and plugins that don't do what one expects of them.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct NetworkRelayTests {
  /// A listener on the machine's loopback, at a port of the kernel's choice.
  private final class Port {
    let descriptor: Int32
    let number: UInt16

    init() throws {
      var address = ol_address([127, 0, 0, 1])
      var made: Int32 = -1
      try check("listen", "test") { ol_listen(&address, 0, 64, &made) }
      descriptor = made
      var place = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      _ = withUnsafeMutablePointer(to: &place) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(made, $0, &length) }
      }
      number = UInt16(bigEndian: place.sin_port)
    }

    deinit { close(descriptor) }

    func accept() throws -> OwnedDescriptor {
      #expect(ol_poll_readable(descriptor, 20_000) == 1)
      var made: Int32 = -1
      try check("accept", "test") { ol_accept(descriptor, &made) }
      return OwnedDescriptor(taking: made)
    }

    /// A connection of a plugin's.
    func connect() throws -> OwnedDescriptor {
      var address = ol_address([127, 0, 0, 1])
      var made: Int32 = -1
      try check("connect", "test") { ol_connect(&address, number, &made) }
      return OwnedDescriptor(taking: made)
    }
  }

  private struct Scene {
    let server = try? Port()
    let plugin: Port
    let questions: Port
    let relay: NetworkRelay
    /// The other end of what stands for the packet socket.
    let packets: Int32
    let told = Told()

    final class Told: Sendable { let denials = Mutex<[RunReport.Denial]>([]) }

    init(_ bounds: NetworkRelay.Bounds = .init(), target: String? = nil) throws {
      (plugin, questions) = (try Port(), try Port())
      let number = try #require(server).number
      let plan = NetworkPlan([try NetworkEndpoint(target ?? "127.0.0.1:\(number)")], sockets: 256)
      let (mine, theirs) = try Sockets.pair(stream: false)
      packets = mine
      let told = told
      let descriptors = [theirs, dup(questions.descriptor), dup(plugin.descriptor)]
      relay = try NetworkRelay(plan, descriptors: descriptors, bounds: bounds) { denial in
        told.denials.withLock { $0.append(denial) }
      }
    }
  }

  /// All that comes until the end; nil where the connection was taken back.
  private func readAll(_ descriptor: borrowing OwnedDescriptor) -> [UInt8]? {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      #expect(ol_poll_readable(descriptor.number, 20_000) == 1)
      let count = recv(descriptor.number, &buffer, buffer.count, 0)
      if count < 0 { return errno == EAGAIN ? all : nil }
      if count == 0 { return all }
      all += buffer[..<count]
    }
  }

  private func send(_ descriptor: Int32, _ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count > 0 { rest = rest.dropFirst(count) } else if errno != EAGAIN { return }
      if count < 0 {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wanted, 1, 20_000)
      }
    }
  }

  @Test("bytes go both ways, each side ends its own, and all are counted") func carries() throws {
    let scene = try Scene()
    let plugin = try scene.plugin.connect()
    let server = try #require(scene.server).accept()
    let out = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let back = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
    let number = plugin.number
    let sending = Thread { [self] in
      send(number, out)
      _ = ol_end_writing(number)
    }
    sending.start()
    let received = readAll(server)
    #expect(received == out)
    let answering = server.number
    let answer = Thread { [self] in
      send(answering, back)
      _ = ol_end_writing(answering)
    }
    answer.start()
    #expect(readAll(plugin) == back, "the plugin has ended its side and reads on")
    let row = try #require(scene.relay.end().connections.first)
    #expect(row.sent == 3_000_000 && row.received == 2_000_000 && row.count == 1 && row.failed == 0, "\(row)")
  }

  @Test("a server and a plugin that never read are waited for without memory, and the end closes both")
  func neverReads() throws {
    let scene = try Scene()
    let plugin = try scene.plugin.connect()
    let server = try #require(scene.server).accept()
    var bytes = [UInt8](repeating: 1, count: 1 << 20)
    var filled = [0, 0]
    // Until neither takes any more for a while.
    for (index, descriptor) in [plugin.number, server.number].enumerated() {
      var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      while poll(&wanted, 1, 300) > 0 {
        let count = Glibc.send(descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        if count > 0 { filled[index] += count }
        guard filled[index] < 64 << 20 else { break }
      }
    }
    #expect(filled.allSatisfy { (1..<64 << 20).contains($0) }, "the kernel's buffers end somewhere: \(filled)")
    let row = try #require(scene.relay.end().connections.first)
    #expect(row.sent <= UInt64(filled[0]) && row.received <= UInt64(filled[1]))
    var buffer = [UInt8](repeating: 0, count: 65536)
    for descriptor in [plugin.number, server.number] {
      var (count, code) = (0, Int32(0))
      repeat {
        // A process that another test is starting has a copy of the relay's descriptor until it executes its program.
        #expect(ol_poll_readable(descriptor, 20_000) == 1)
        count = recv(descriptor, &buffer, buffer.count, 0)
        code = errno
      } while count > 0
      #expect(count == 0 || code == ECONNRESET, "it is closed: \(count), \(code)")
    }
  }

  @Test("more than there may be are taken back and counted, and room that is free again is used") func floods() throws {
    var bounds = NetworkRelay.Bounds()
    bounds.admission = .init(connections: 4, perSecond: 1_000_000, burst: 1_000_000)
    let scene = try Scene(bounds)
    let server = try #require(scene.server)
    var held: [Int32] = []
    defer { for descriptor in held { close(descriptor) } }
    for _ in 0..<4 {
      held.append(try scene.plugin.connect().release())
      held.append(try server.accept().release())
    }
    for _ in 0..<500 {
      let more = try scene.plugin.connect()
      #expect(readAll(more) == nil, "a reset")
    }
    _ = ol_reset_at_close(held[0])
    close(held.removeFirst())
    #expect(ol_poll_readable(held[0], 20_000) == 1, "the server hears of it")
    let again = try scene.plugin.connect()
    let accepted = try server.accept()
    send(again.number, [1])
    #expect(ol_poll_readable(accepted.number, 20_000) == 1)
    let record = scene.relay.end()
    #expect(record.denials.map(\.count) == [500] && record.denials[0].wall == "limits", "\(record.denials)")
    #expect(scene.told.denials.withLock { $0.count } == 1, "told once")
    #expect(record.connections[0].count == 5)
  }

  @Test("a connection on which nothing moves ends, and one that can't be made says why") func endsIdle() throws {
    var bounds = NetworkRelay.Bounds()
    bounds.longestIdle = .milliseconds(40)
    let scene = try Scene(bounds)
    let plugin = try scene.plugin.connect()
    let server = try #require(scene.server).accept()
    send(plugin.number, [1])
    #expect(readAll(plugin) == nil && readAll(server) == nil)
    let row = try #require(scene.relay.end().connections.first)
    #expect(row.failed == 1 && row.failure.contains("too long"), "\(row)")

    let closed = try Port().number
    for (target, words) in [
      ("127.0.0.1:\(closed)", "refused"), ("no-such-host.invalid:1", "no-such-host.invalid"),
    ] {
      let scene = try Scene(target: target)
      #expect(readAll(try scene.plugin.connect()) == nil, "\(target)")
      let row = try #require(scene.relay.end().connections.first)
      #expect(row.failed == 1 && row.failure.contains(words) && row.sent == 0, "\(row)")
    }
  }

  @Test("localhost is this machine") func resolves() throws {
    let number = try Port()
    let scene = try Scene(target: "localhost:\(number.number)")
    let plugin = try scene.plugin.connect()
    let server = try number.accept()
    send(server.number, [7])
    #expect(ol_poll_readable(plugin.number, 20_000) == 1)
    #expect(scene.relay.end().connections[0].failed == 0)
  }

  @Test("what is tried beside the list is told as it happens, and packets that are none do nothing") func sees() throws
  {
    let scene = try Scene()
    let head: [UInt8] = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 10, 1, 2, 3]
    let syn = head + [0x90, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2]
    for bytes in [syn, [0], syn, [0xff, 0xff], Array(syn.dropLast())] {
      #expect(Glibc.send(scene.packets, bytes, bytes.count, 0) == bytes.count)
    }
    let record = scene.relay.end()
    #expect(record.denials.map(\.target) == ["10.1.2.3:80"] && record.denials[0].count == 2)
    #expect(scene.told.denials.withLock { $0.map(\.target) } == ["10.1.2.3:80"])
    close(scene.packets)
  }

  // MARK: Names

  /// One answer, or what came before the end.
  private func ask(_ scene: Scene, _ bytes: [UInt8]) throws -> [UInt8] {
    let connection = try scene.questions.connect()
    send(connection.number, bytes)
    _ = ol_end_writing(connection.number)
    return readAll(connection) ?? []
  }

  @Test("names are answered, one after the other, in whatever pieces they are asked for") func names() throws {
    let scene = try Scene()
    let connection = try scene.questions.connect()
    var asked: [UInt8] = []
    for name in ["a.example", "b.example", "a.example"] { asked += NameQuestionTests.framed(name) }
    for byte in asked { send(connection.number, [byte]) }
    _ = ol_end_writing(connection.number)
    let answers = readAll(connection) ?? []
    #expect(answers.count == 3 * (2 + 12 + 15 + 16), "\(answers)")
    let addresses = (0..<3).map { Array(answers[$0 * 45 + 41..<$0 * 45 + 45]) }
    #expect(addresses[0] == addresses[2] && addresses[0] != addresses[1] && addresses[0].prefix(2) == [127, 78])
    // A connection to one of them names it; the other was only asked for.
    send(scene.packets, NetworkPlanTests.packet(to: addresses[1], port: 443))
    let record = scene.relay.end()
    #expect(
      record.denials.map { "\($0.operation) \($0.target) \($0.count)" } == [
        "connect b.example:443 1", "lookup a.example 2",
      ])
  }

  @Test("a plugin that asks for nonsense, too much, or doesn't read, is closed, and others are answered")
  func nonsense()
    throws
  {
    let scene = try Scene()
    var random = SeededGenerator(seed: 7)
    for _ in 0..<200 {
      let bytes = (0..<random.below(80)).map { _ in UInt8(random.below(256)) }
      #expect(try ask(scene, [0, UInt8(bytes.count)] + bytes).count < 200)
    }
    #expect(try ask(scene, [0xff, 0xff]).isEmpty)
    let many = try ask(scene, (0..<1000).flatMap { NameQuestionTests.framed("n\($0).example") })
    #expect(many.count <= 64 * 64)
    // More at once than are kept: the oldest make room.
    let idle = try (0..<40).map { _ in IdleConnection(try scene.questions.connect()) }
    #expect(try ask(scene, NameQuestionTests.framed("z.example")).count == 45)
    withExtendedLifetime(idle) {}
    #expect(scene.relay.end().denials.count <= 257)
  }

  private final class IdleConnection {
    let descriptor: OwnedDescriptor
    init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
  }
}
