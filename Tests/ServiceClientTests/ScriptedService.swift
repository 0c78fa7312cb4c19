import Foundation
import Glibc
import ServiceProtocol
import Synchronization

/// A service that says what a test tells it to say, on a socket in a folder of its own. Its threads are its own, too: tests
/// may block those of Swift.
final class ScriptedService: Sendable {
  /// One client's connection.
  final class Peer: Sendable {
    private let descriptor: Int32
    private let sending = Mutex(())
    private let reading = DispatchSemaphore(value: 1)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { Glibc.close(descriptor) }

    func send(_ message: ServiceMessage) {
      do { send(bytes: try FrameCodec.encode(message)) } catch { fatalError("\(error)") }
    }

    func send(bytes: [UInt8]) {
      sending.withLock { _ in
        var sent = 0
        while sent < bytes.count {
          let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
          }
          guard count > 0 else { return }
          sent += count
        }
      }
    }

    func reply(_ id: UInt64, _ reply: Reply = .done) { send(.reply(id: id, reply: reply)) }
    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// From now on nothing is read, until `resumeReading`.
    func stopReading() { reading.wait() }
    func resumeReading() { reading.signal() }

    func run(_ take: (ClientMessage) -> Void) {
      var assembler = FrameAssembler()
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        reading.wait()
        reading.signal()
        assembler.append(buffer[..<count])
        while let payload = try? assembler.next() {
          guard let message = try? FrameCodec.decode(ClientMessage.self, from: payload) else { return }
          take(message)
        }
      }
    }
  }

  typealias Script = @Sendable (Peer, UInt64, ClientRequest) -> Void

  let folder: URL
  let received = Record<ClientMessage>()
  /// Connections in the order in which they came.
  let peers = Record<Peer>()
  /// Connections that have ended.
  let ended = Record<Int>()
  private let script: Script
  private let greeting: ServiceFailure?
  private let unansweredGreetings: Mutex<Int>
  private let listening = Mutex<Int32>(-1)

  var environment: [String: String] { [ServicePaths.stateVariable: folder.path] }
  var socketPath: String { ServicePaths(state: folder.path).socket }

  /// `script` answers everything that isn't `hello`; by itself the service answers each request with `done`.
  ///
  /// `greeting` is what `hello` gets instead of a welcome. The first connections, so many as `unanswered` says, end with it.
  init(
    greeting: ServiceFailure? = nil, unanswered: Int = 0, script: @escaping Script = { peer, id, _ in peer.reply(id) }
  ) throws {
    self.greeting = greeting
    unansweredGreetings = Mutex(unanswered)
    folder = URL(fileURLWithPath: "/tmp/outrider-client-\(UUID().uuidString.prefix(8))")
    self.script = script
    let paths = ServicePaths(state: folder.path)
    try FileManager.default.createDirectory(atPath: paths.runtime, withIntermediateDirectories: true)
    try start()
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func start() throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
    unlink(socketPath)
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard listener >= 0, result == 0, listen(listener, 64) == 0 else { throw POSIXError(.EIO) }
    listening.withLock { $0 = listener }
    Thread.detachNewThread { [weak self] in
      // Closed here: while this thread may still ask for it, its number mustn't become another test's socket.
      defer { Glibc.close(listener) }
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        guard let self else {
          Glibc.close(descriptor)
          return
        }
        self.serve(Peer(descriptor))
      }
    }
  }

  /// The socket goes, and every connection.
  func stop() {
    listening.withLock { listener in
      if listener >= 0 { shutdown(listener, Int32(SHUT_RDWR)) }
      listener = -1
      unlink(socketPath)
    }
    for peer in peers.all { peer.close() }
  }

  /// A connection that the test made itself, as `outrider launch` hands one down.
  func connectedDescriptor() throws -> Int32 {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw POSIXError(.EIO) }
    serve(Peer(ends[1]))
    return ends[0]
  }

  private func serve(_ peer: Peer) {
    peers.add(peer)
    let number = peers.all.count
    Thread.detachNewThread { [self] in
      peer.run { message in
        if case .request(let id, .hello) = message {
          received.add(message)
          let isUnanswered = unansweredGreetings.withLock { left in
            left -= 1
            return left >= 0
          }
          if isUnanswered {
            peer.close()
          } else if let greeting {
            peer.send(.failure(id: id, failure: greeting))
          } else {
            peer.reply(id, .welcome(welcome))
          }
        } else if case .request(let id, let request) = message {
          received.add(message)
          script(peer, id, request)
        } else {
          received.add(message)
        }
      }
      ended.add(number)
    }
  }

  private var welcome: Welcome {
    Welcome(
      version: Hello.currentVersion, process: 1, isDevelopment: false, app: "com.example.app",
      containers: ["group.com.example": folder.path])
  }

  /// What was asked, without `hello`.
  var requests: [ClientRequest] { received.all.compactMap(\.question) }
  var answers: [DelegateAnswer] {
    received.all.compactMap { if case .answer(_, let answer) = $0 { answer } else { nil } }
  }
}

extension ClientMessage {
  var question: ClientRequest? {
    guard case .request(_, let request) = self else { return nil }
    if case .hello = request { return nil }
    return request
  }
}

/// What happened, for tests that wait until something has.
final class Record<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var waiting: [(isReady: ([Element]) -> Bool, go: CheckedContinuation<Void, Never>)] = []
  }
  private let state = Mutex<Unchecked<State>>(Unchecked(value: State()))

  private struct Unchecked<Value>: @unchecked Sendable { var value: Value }

  var all: [Element] { state.withLock { $0.value.elements } }

  func add(_ element: Element) {
    let ready = state.withLock { state in
      state.value.elements.append(element)
      let elements = state.value.elements
      let ready = state.value.waiting.filter { $0.isReady(elements) }.map(\.go)
      state.value.waiting.removeAll { $0.isReady(elements) }
      return ready
    }
    for continuation in ready { continuation.resume() }
  }

  func wait(until isReady: @escaping @Sendable ([Element]) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isReadyNow = state.withLock { state in
        if isReady(state.value.elements) { return true }
        state.value.waiting.append((isReady, continuation))
        return false
      }
      if isReadyNow { continuation.resume() }
    }
  }

  func wait(for count: Int) async { await wait { $0.count >= count } }
}
