internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// The physical limit of a call: the same bytes there and back over the same kind of socket, to a thread that answers.
package enum PingPong {
  /// Seconds of each of `count` round trips.
  package static func run(count: Int) throws -> [Double] {
    let (mine, theirs) = try Sockets.pair(stream: true)
    defer { close(mine) }
    let question = HostMessage.call(.function(symbol: "abs", signature: "i32(i32)", arguments: [.signed(-5)])).frame(
      id: 1
    ).encoded()
    let answer = RunnerMessage.returned(.init(value: .signed(5))).frame(id: 1).encoded()
    let echo = Echo(socket: theirs, question: question.count, answer: answer)
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { raw in
        guard let raw else { return nil }
        Unmanaged<Echo>.fromOpaque(raw).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(echo).toOpaque())
    var samples: [Double] = []
    var buffer = [UInt8](repeating: 0, count: answer.count)
    for _ in 0..<count {
      let start = BootClock.now
      try Sockets.send(mine, question)
      _ = try Sockets.receive(mine, into: &buffer)
      samples.append((BootClock.now - start).inSeconds)
    }
    shutdown(mine, Int32(SHUT_RDWR))
    pthread_join(thread, nil)
    return samples
  }

  private final class Echo {
    let socket: Int32
    let answer: [UInt8]
    var buffer: [UInt8]

    init(socket: Int32, question: Int, answer: [UInt8]) {
      self.socket = socket
      self.answer = answer
      buffer = [UInt8](repeating: 0, count: question)
    }

    func run() {
      while let part = try? Sockets.receive(socket, into: &buffer), part.count > 0 {
        guard (try? Sockets.send(socket, answer)) != nil else { break }
      }
      close(socket)
    }
  }
}
