import Basics
import Foundation
import Glibc
import ServiceClient
import ServiceProtocol
import TestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(2))) struct ConnectionTests {
  @Test("a path longer than a socket's address is named with both lengths") func longPath() {
    let path = "/" + String(repeating: "x", count: 120)
    let error = #expect(throws: ServiceConnectionError.self) { _ = try ServiceConnection.connect(to: path) }
    #expect(error?.reason == .pathTooLong(bytes: 121, max: 107))
    #expect(error?.description.contains("121 bytes") == true && error?.description.contains("OUTRIDER_STATE") == true)
  }

  @Test("where nothing listens, the service isn't running", arguments: [false, true]) func absent(isStale: Bool) throws
  {
    let service = try ScriptedService()
    service.stop()
    // A socket at which nothing listens any more.
    if isStale { try Self.bindStaleSocket(at: service.socketPath) }
    let error = #expect(throws: ServiceConnectionError.self) {
      _ = try ServiceConnection.connect(to: service.socketPath)
    }
    #expect(error?.isServiceAbsent == true && error?.description.contains("isn't running") == true)
    #expect(error?.description.contains(service.socketPath) == true)
  }

  private static func bindStaleSocket(at path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(result == 0)
  }

  @Test("a descriptor that isn't a connected socket of this machine is refused and stays open") func foreignDescriptor()
    throws
  {
    let file = open("/dev/null", O_RDONLY)
    defer { close(file) }
    let error = #expect(throws: ServiceConnectionError.self) { _ = try ServiceConnection(taking: file) }
    #expect(error?.reason == .notASocket(descriptor: file))
    #expect(fcntl(file, F_GETFD) >= 0)
  }

  @Test("a connection that is taken over isn't inherited by children") func closeOnExec() throws {
    let service = try ScriptedService()
    defer { service.stop() }
    let descriptor = try service.connectedDescriptor()
    let connection = try ServiceConnection(taking: descriptor)
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    let inherited = try connection.descriptorToInherit()
    defer { close(inherited) }
    #expect(fcntl(inherited, F_GETFD) & FD_CLOEXEC == 0)
  }

  @Test(
    "a service of another user is refused", .enabled(if: geteuid() == 0, "needs root to be another user"))
  func foreignPeer() throws {
    let folder = "/tmp/outrider-client-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    chmod(folder, 0o777)
    let other = TestProcess()
    other.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
    other.arguments = [
      "--reuid=65534", "--regid=65534", "--clear-groups", "perl", "-MIO::Socket::UNIX", "-e",
      "my $s = IO::Socket::UNIX->new(Local => '\(folder)/s', Listen => 1) or die; $| = 1; print qq(ready\\n); <STDIN>",
    ]
    let output = Pipe.own()
    let input = Pipe.own()
    other.standardOutput = output
    other.standardInput = input
    try other.run()
    defer {
      input.fileHandleForWriting.closeFile()
      other.waitUntilExit()
    }
    try #require(output.fileHandleForReading.availableData.isEmpty == false)
    let error = #expect(throws: ServiceConnectionError.self) { _ = try ServiceConnection.connect(to: "\(folder)/s") }
    #expect(error?.reason == .foreignPeer(uid: 65534, own: 0))
  }

  private func pair() throws -> (ServiceConnection, Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    return (try ServiceConnection(taking: ends[0]), ends[1])
  }

  @Test(
    "what isn't a message ends the connection with its reason",
    arguments: [
      ([0xff, 0xff, 0xff, 0xff], "4294967295 bytes"), ([0, 0, 0, 0], "no content"),
      ([0, 0, 0, 2, 0x7b, 0x7d], "isn't a message"), ([0, 0, 0, 1, 0x20], "isn't a message"),
      ([0x47, 0x45, 0x54, 0x20, 0x2f], "bytes"),
    ] as [([UInt8], String)])
  func garbage(bytes: [UInt8], reason: String) throws {
    let (connection, other) = try pair()
    defer { close(other) }
    #expect(write(other, bytes, bytes.count) == bytes.count)
    let error = #expect(throws: ServiceConnectionError.self) { _ = try connection.receive() }
    #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
    #expect(throws: ServiceConnectionError.self) { try connection.send(.request(id: 1, request: .status)) }
  }

  @Test("half a frame at the end is the end") func halfFrame() throws {
    let (connection, other) = try pair()
    let frame = try FrameCodec.encode(ServiceMessage.reply(id: 1, reply: .done))
    #expect(write(other, frame + frame.dropLast(3), 2 * frame.count - 3) > 0)
    close(other)
    #expect(try connection.receive() == .reply(id: 1, reply: .done))
    #expect(try connection.receive() == nil)
  }

  @Test("frames are found wherever the stream is cut", arguments: 1...3) func anyCut(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (connection, other) = try pair()
    let messages = (0..<50).map { ServiceMessage.withdraw(call: UInt64($0) << (random.below(50))) }
    let bytes = try messages.flatMap { try FrameCodec.encode($0) }
    var cuts: [Int] = []
    while cuts.reduce(0, +) < bytes.count { cuts.append(min(1 + random.below(40), bytes.count - cuts.reduce(0, +))) }
    Thread.detachNewThread { [cuts] in
      var rest = bytes[...]
      for cut in cuts {
        _ = Array(rest.prefix(cut)).withUnsafeBytes { write(other, $0.baseAddress, $0.count) }
        rest = rest.dropFirst(cut)
      }
      close(other)
    }
    for message in messages { #expect(try connection.receive() == message) }
    #expect(try connection.receive() == nil)
  }

  @Test("random bytes never do more than end the connection", arguments: 0..<200) func randomBytes(seed: UInt64) throws
  {
    var random = SeededGenerator(seed: seed)
    let (connection, other) = try pair()
    var bytes = (0..<random.below(300)).map { _ in UInt8.random(in: 0...255, using: &random) }
    // Half of them have a length that fits.
    if random.chance(2), bytes.count > 4 {
      bytes.replaceSubrange(0..<4, with: [0, 0, UInt8((bytes.count - 4) >> 8), UInt8((bytes.count - 4) & 255)])
    }
    _ = write(other, bytes, bytes.count)
    close(other)
    while let message = try? connection.receive() { Issue.record("took \(message) for a message") }
  }

  @Test("a message that is too long is refused and the connection goes on") func tooLong() throws {
    let (connection, other) = try pair()
    defer { close(other) }
    let text = String(repeating: "x", count: FrameCodec.maxPayload)
    let error = #expect(throws: ServiceConnectionError.self) {
      try connection.send(.request(id: 1, request: .explain(subject: text)))
    }
    guard case .messageTooLong = error?.reason else { return #expect(Bool(false), "\(String(describing: error))") }
    try connection.send(.request(id: 2, request: .status))
  }

  @Test("sending to a service that has gone fails without a signal") func brokenPipe() throws {
    let (connection, other) = try pair()
    close(other)
    let error = #expect(throws: ServiceConnectionError.self) { try connection.send(.request(id: 1, request: .status)) }
    #expect(error?.reason == .closed)
    #expect(try connection.receive() == nil)
  }
}
