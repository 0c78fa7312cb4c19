import Basics
import Glibc
import HostProtocol
import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct RunChannelsTests {
  /// The runner's ends; the loop isn't asked to watch anything, so the test's thread may use its buffer.
  private struct Peer {
    let loop: EventLoop
    let control: Int32
    let service: Int32
    let output: Int32

    func close() {
      for descriptor in [control, service, output] { _ = Glibc.close(descriptor) }
      loop.shutDown()
    }
  }

  private func make(_ body: (inout RunChannels, Peer) throws -> Void) throws {
    let (control, runnersControl) = try Sockets.pair(stream: true)
    let (service, runnersService) = try Sockets.pair(stream: true)
    let pipe = try Sockets.pipe()
    let peer = Peer(
      loop: try EventLoop("test.channels"), control: runnersControl, service: runnersService,
      output: try pipe.second.duplicate().release())
    defer { peer.close() }
    var channels = RunChannels(
      control: OwnedDescriptor(taking: control), service: OwnedDescriptor(taking: service),
      output: try pipe.first.duplicate(), frameBytes: 1 << 16, loop: peer.loop)
    try body(&channels, peer)
    channels.close()
  }

  @Test("frames arrive whole and in order, wherever the stream is cut", arguments: 0..<20 as Range<UInt64>)
  func framing(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try make { (channels, peer) in
      let frames = (0..<50).map { index in
        Frame(kind: 1, id: UInt64(index), payload: (0..<random.below(3000)).map { UInt8(truncatingIfNeeded: $0) })
      }
      var bytes = frames.flatMap { $0.encoded() }[...]
      let isControl = random.chance(2)
      var found: [Frame] = []
      while !bytes.isEmpty {
        let part = bytes.prefix(1 + random.below(5000))
        bytes = bytes.dropFirst(part.count)
        try Sockets.send(isControl ? peer.control : peer.service, Array(part))
        guard case .bytes(_, let descriptors, false) = channels.read(isControl ? .control : .service, isWanted: true)
        else {
          Issue.record("nothing was read")
          return
        }
        #expect(descriptors.isEmpty)
        while let frame = try channels.nextFrame(on: isControl ? .control : .service) { found.append(frame) }
      }
      #expect(found == frames)
      guard case .nothing = channels.read(.control, isWanted: true) else {
        Issue.record("there is more than was sent")
        return
      }
    }
  }

  @Test("what isn't wanted any more is read, so that it doesn't wait, and forgotten") func unwanted() throws {
    try make { (channels, peer) in
      try Sockets.send(peer.service, Frame(kind: 1, id: 1, payload: []).encoded())
      guard case .bytes = channels.read(.service, isWanted: false) else {
        Issue.record("nothing was read")
        return
      }
      let frame = try channels.nextFrame(on: .service)
      #expect(frame == nil)
    }
  }

  @Test("a peer that doesn't read keeps frames waiting, up to a bound, and gets all of them in order") func sending()
    throws
  {
    try make { (channels, peer) in
      let number = peer.control
      var sent: [Frame] = []
      var result = RunChannels.Sending.sent
      while sent.count < 4000, result != .overfull {
        let frame = Frame(kind: 2, id: UInt64(sent.count), payload: [UInt8](repeating: 7, count: 1000))
        sent.append(frame)
        _ = channels.send(frame, on: .control)
        result = channels.flush()
      }
      #expect(result == .overfull)
      let waiting = channels.unread(on: .control)
      #expect(waiting > 1000 * 1000 && channels.unread(on: .service) == 0)
      var assembler = FrameAssembler()
      var found: [Frame] = []
      var buffer = [UInt8](repeating: 0, count: 65536)
      while found.count < sent.count {
        _ = channels.flush()
        guard let part = try Sockets.receive(number, into: &buffer, flags: Int32(MSG_DONTWAIT)) else { break }
        assembler.append(buffer[..<part.count])
        while let frame = try assembler.next() { found.append(frame) }
      }
      #expect(found == sent && channels.unread(on: .control) == 0)
    }
  }

  /// Of the descriptors that trusted code sends each is kept once, and every other is closed.
  @Test func keepsWhatIsExpected() throws {
    try make { (channels, _) in
      func open() throws -> Int32 { try OwnedDescriptor.open("/dev/null", O_RDONLY).release() }
      func isOpen(_ number: Int32) -> Bool { fcntl(number, F_GETFD) >= 0 }
      func keep(_ number: Int32, _ expected: RunChannels.Expectation) -> Bool {
        channels.keep(OwnedDescriptor(taking: number), expecting: expected)
      }
      let all = RunChannels.Expectation(process: true, listener: true, namespace: true)
      let numbers = try (0..<5).map { _ in try open() }
      for number in numbers.prefix(4) {
        let isKept = keep(number, all)
        #expect(isKept && isOpen(number))
      }
      #expect(channels.listener == numbers[2])
      let isKept = keep(numbers[4], all)
      #expect(!isKept)
      let unexpected = keep(try open(), .init())
      #expect(!unexpected)
      let taken = [channels.takeStatus()?.release(), channels.takeMaps()?.release(), channels.takeStatus()?.release()]
      #expect(taken == [numbers[0], numbers[1], nil])
      for number in taken.compactMap(\.self) { close(number) }
    }
  }

  @Test("closed, it has no descriptor any more, and the peer reads the end") func closing() throws {
    try make { (channels, peer) in
      channels.close()
      #expect(channels.isClosed && channels.process == -1 && channels.listener == -1 && !channels.hasEnded)
      var buffer = [UInt8](repeating: 0, count: 16)
      for socket in [peer.control, peer.service] {
        let part = try Sockets.receive(socket, into: &buffer, flags: Int32(MSG_DONTWAIT))
        #expect(part?.count == 0)
      }
      let result = channels.send(Frame(kind: 1, id: 1, payload: []), on: .control)
      #expect(result == .sent)
    }
  }
}
