internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// The physical limit of a call: the same bytes there and back over the same kind of socket, from the thread that makes
/// calls to one that answers.
///
/// @unchecked Sendable: `buffer` is touched on the host's loop alone.
package final class PingPong: @unchecked Sendable {
  private let host: PluginHost
  private let socket: Int32
  private let thread: pthread_t
  private let question: [UInt8]
  private var buffer: [UInt8]

  package init(_ host: PluginHost) throws {
    self.host = host
    let (mine, theirs) = try Sockets.pair(stream: true)
    socket = mine
    question = HostMessage.call(.function(symbol: "abs", signature: "i32(i32)", arguments: [.signed(-5)])).frame(id: 1)
      .encoded()
    let answer = RunnerMessage.returned(.init(value: .signed(5))).frame(id: 1).encoded()
    buffer = [UInt8](repeating: 0, count: answer.count)
    let echo = Echo(socket: theirs, question: question.count, answer: answer)
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { raw in
        guard let raw else { return nil }
        Unmanaged<Echo>.fromOpaque(raw).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(echo).toOpaque())
    self.thread = thread
  }

  deinit {
    shutdown(socket, Int32(SHUT_RDWR))
    pthread_join(thread, nil)
    close(socket)
  }

  /// Seconds.
  package func roundTrip() async throws -> Double {
    try await withCheckedThrowingContinuation { continuation in
      host.core.loop.submit { [self] in continuation.resume(with: Result { try exchange() }) }
    }
  }

  private func exchange() throws -> Double {
    let start = BootClock.now
    try Sockets.send(socket, question)
    _ = try Sockets.receive(socket, into: &buffer)
    return (BootClock.now - start).inSeconds
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
