import Foundation
import LinuxSystem
import ServiceProtocol
import Synchronization
import TestSupport

/// A service that says what a test tells it to say, for commands that run as processes of their own.
final class ScriptedService: Sendable {
  final class Peer: Sendable {
    private let descriptor: Int32
    /// Watches, and has been told all that there is.
    let isFollowing = Mutex(false)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { Glibc.close(descriptor) }

    func send(_ message: ServiceMessage) {
      guard let bytes = try? FrameCodec.encode(message) else { return }
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        sent += count
      }
    }

    func reply(_ id: UInt64, _ reply: ServiceProtocol.Reply = .done) { send(.reply(id: id, reply: reply)) }
    func fail(_ id: UInt64, _ failure: ServiceFailure) { send(.failure(id: id, failure: failure)) }
    func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    func run(_ take: (UInt64, ClientRequest) -> Void) {
      var assembler = FrameAssembler()
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
        assembler.append(buffer[..<count])
        while let payload = try? assembler.next() {
          guard case .request(let id, let request) = try? FrameCodec.decode(ClientMessage.self, from: payload) else {
            return
          }
          take(id, request)
        }
      }
    }
  }

  typealias Script = @Sendable (Peer, UInt64, ClientRequest) -> Void

  let folder: String
  private let script: Script
  private struct State {
    var listener: Int32 = -1
    var peers: [Peer] = []
    var requests: [ClientRequest] = []
  }
  private let state = Mutex(State())

  var paths: ServicePaths { ServicePaths(state: folder) }
  var requests: [ClientRequest] { state.withLock { $0.requests } }

  /// `script` answers everything that isn't `hello`.
  init(_ script: @escaping Script) throws {
    folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-peer-")
    self.script = script
    try FileManager.default.createDirectory(atPath: paths.runtime, withIntermediateDirectories: true)
    try start()
  }

  deinit { Files.removeTree(folder) }

  /// A process listens at the socket; who connects isn't taken. The caller closes it.
  func listen() throws -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: paths.socket.utf8) }
    unlink(paths.socket)
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard listener >= 0, result == 0, Glibc.listen(listener, 64) == 0 else { throw POSIXError(.EIO) }
    return listener
  }

  func start() throws {
    let listener = try listen()
    state.withLock { $0.listener = listener }
    Thread.detachNewThread { [weak self] in
      // No other thread closes it: its number could be another's when this thread accepts again.
      defer { Glibc.close(listener) }
      while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
        guard let self else { return }
        self.serve(Peer(descriptor))
      }
    }
  }

  /// As a service that is killed: its connections end, and the socket stays where nothing listens.
  func die() {
    let peers = state.withLock { state in
      shutdown(state.listener, Int32(SHUT_RDWR))
      defer { state.peers = [] }
      return state.peers
    }
    for peer in peers { peer.close() }
  }

  private func serve(_ peer: Peer) {
    state.withLock { $0.peers.append(peer) }
    Thread.detachNewThread { [self] in
      peer.run { id, request in
        state.withLock { $0.requests.append(request) }
        if case .hello = request {
          peer.reply(id, .welcome(Welcome(version: Hello.currentVersion, process: 4_999_999, isDevelopment: false)))
        } else {
          script(peer, id, request)
        }
        // The last question of those that watch.
        switch request {
        case .downloads, .log: peer.isFollowing.withLock { $0 = true }
        default: break
        }
      }
    }
  }

  /// To every client that is connected, once one watches.
  func tell(_ event: WatchEvent) {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline, !state.withLock({ $0.peers.contains { $0.isFollowing.withLock { $0 } } }) {
      usleep(1000)
    }
    for peer in state.withLock({ $0.peers }) { peer.send(.event(event)) }
  }

  /// Runs the command line to its end.
  func run(_ arguments: String..., environment: [String: String] = [:]) throws -> Workspace.Finished {
    // A command that starts a service in place of this one says so instead.
    let own = [ServicePaths.stateVariable: folder, "OUTRIDER_SERVICE": "/nonexistent/outriderd"]
    return try Workspace.run(arguments, environment: own.merging(environment) { $1 })
  }
}

/// A command whose output comes piece by piece.
final class RunningCommand {
  let process = TestProcess()
  private let output = Pipe.own()
  private let errors = Pipe.own()
  private var text: (output: String, errors: String) = ("", "")
  private var ended: Set<Int> = []

  init(_ arguments: [String], state: String) throws {
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(
      [ServicePaths.stateVariable: state, "OUTRIDER_SERVICE": "/nonexistent/outriderd"]) { $1 }
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    try? output.fileHandleForWriting.close()
    try? errors.fileHandleForWriting.close()
  }

  /// Reads until one of them has `part`; false when both have ended, or nothing has come for very long.
  func wait(for part: String) -> Bool {
    while !text.output.contains(part), !text.errors.contains(part) {
      let handles = [output.fileHandleForReading.fileDescriptor, errors.fileHandleForReading.fileDescriptor]
      guard ended.count < 2 else { return false }
      // poll(2) leaves negative ones out.
      var wanted = handles.enumerated().map {
        pollfd(fd: ended.contains($0) ? -1 : $1, events: Int16(POLLIN), revents: 0)
      }
      guard poll(&wanted, 2, 60_000) > 0 else { return false }
      for (index, handle) in handles.enumerated() where wanted[index].revents != 0 {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = read(handle, &buffer, buffer.count)
        guard count > 0 else {
          ended.insert(index)
          continue
        }
        let more = String(decoding: buffer[..<count], as: UTF8.self)
        if index == 0 { text.output += more } else { text.errors += more }
      }
    }
    return true
  }

  func finish() -> Workspace.Finished {
    // Whatever it says after the end of both is nothing.
    _ = wait(for: "\u{0}")
    process.waitUntilExit()
    return Workspace.Finished(
      status: process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus,
      output: text.output, errors: text.errors)
  }

  func interrupt() { kill(process.processIdentifier, SIGINT) }
}

extension AppSummary {
  static func sample(
    _ identifier: String = "com.example.sessions", name: String = "Sessions", state: State = .launchable,
    isClosed: Bool = false, reason: String = "its essential downloads are here", fraction: Double = 1,
    received: Int64 = 10 << 20
  ) -> Self {
    Self(
      identifier: identifier, version: "1.2", name: name, state: state, isPaused: false,
      gate: .init(isClosed: isClosed, reason: reason),
      progress: .init(
        fraction: fraction, base: 1, install: 1, essential: fraction, receivedBytes: received, expectedBytes: 10 << 20),
      restrictions: .init(
        isActive: true, allowance: .init(limit: 200 << 20, used: 1 << 20),
        essentialAllowance: .init(limit: 4 << 30, used: 0)),
      runtime: .init(usedSeconds: 1.5, budgetSeconds: 600), nextPeriodicWake: "2100-01-01T00:00:00.000Z",
      groups: ["group.com.example": "/tmp/group"], path: "/tmp/apps/Sessions.app")
  }
}

extension DownloadSummary {
  static func sample(
    _ identifier: String, state: String = "downloading", received: Int64 = 1 << 20, total: Int64? = 2 << 20,
    waiting: Waiting? = nil
  ) -> Self {
    Self(
      app: "com.example.sessions", identifier: identifier, uniqueIdentifier: "unique-\(identifier)", state: state,
      isEssential: true, isManifest: false, priority: 0, class: .essential, receivedBytes: received, totalBytes: total,
      bytesPerSecond: 1_048_576, url: "https://example.com/\(identifier)", scheduledBy: "extension", waiting: waiting)
  }
}

extension RunSummary {
  static func sample(_ id: Int64 = 7, kind: String = "returned", rejected: [Rejection] = []) -> Self {
    Self(
      app: "com.example.sessions", id: id, request: "install", startedAt: "2026-11-22T10:00:00.000Z",
      outcome: .init(kind: kind, detail: ""),
      usage: .init(wallSeconds: 0.0123, cpuSeconds: 0.01, peakMemoryBytes: 3 << 20), limits: [:],
      downloads: .init(accepted: 3, rejected: rejected), denials: [], log: [])
  }
}
