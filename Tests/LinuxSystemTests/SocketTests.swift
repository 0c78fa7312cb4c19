import Glibc
import LinuxSystem
import Testing

/// The ends of Unix sockets: what a killed peer had said still arrives.
@Suite(.timeLimit(.minutes(1))) struct SocketTests {
  @Test(arguments: [true, false]) func whoeverDiesWithSomethingUnreadIsStillHeard(stream: Bool) throws {
    let (mine, theirs) = try Sockets.pair(stream: stream)
    defer { close(mine) }
    try Sockets.send(mine, [1, 2, 3])
    try Sockets.send(theirs, [4, 5])
    close(theirs)

    var buffer = [UInt8](repeating: 0, count: 16)
    #expect(try Sockets.receive(mine, into: &buffer)?.count == 2)
    #expect(buffer.prefix(2) == [4, 5])
    #expect(try Sockets.receive(mine, into: &buffer)?.count == 0)
    #expect(try Sockets.receive(mine, into: &buffer)?.count == 0)
  }
}
