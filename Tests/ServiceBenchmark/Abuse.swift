import Foundation
import ServiceProtocol

/// What a hostile process does to the service's socket, again and again until it is killed: service-benchmark abuse KIND SOCKET.
enum Abuse: String, CaseIterable {
  case connections, garbage, pipelining, neverReading

  var title: String {
    switch self {
    case .connections: "a process that connects ten thousand times and more"
    case .garbage: "a process that sends what is no message"
    case .pipelining: "a process with 200 connections that ask without a pause"
    case .neverReading: "a process with 200 connections that ask for long lists and read nothing"
    }
  }

  func run(_ path: String) {
    // Never longer than the benchmark.
    let parent = getppid()
    let watch = DispatchSource.makeTimerSource()
    watch.setEventHandler { if getppid() != parent { exit(0) } }
    watch.schedule(deadline: .now(), repeating: 1)
    watch.resume()
    defer { watch.cancel() }
    switch self {
    case .connections: connections(path)
    case .garbage: garbage(path)
    case .pipelining: pipelining(path)
    case .neverReading: neverReading(path)
    }
  }

  /// Keeps as many as it is given.
  private func connections(_ path: String) {
    var kept: [HostileSocket] = []
    while true {
      guard let socket = HostileSocket(path) else { continue }
      if kept.count < 250 {
        socket.send(Self.hello)
        kept.append(socket)
      }
    }
  }

  private func garbage(_ path: String) {
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
    let frame: [UInt8] = [0, 0, 0x0f, 0xfc] + bytes.prefix(4092)
    while true {
      guard let socket = HostileSocket(path) else { continue }
      socket.send(Bool.random() ? frame : bytes)
    }
  }

  private func pipelining(_ path: String) {
    let request = Self.frame(.request(id: 2, request: .settings))
    let sockets = Self.operators(path)
    while true {
      for socket in sockets {
        socket.readAll()
        socket.send(request)
      }
    }
  }

  private func neverReading(_ path: String) {
    var number: UInt64 = 1
    let sockets = Self.operators(path)
    while true {
      number += 1
      let request = Self.frame(.request(id: number, request: .downloads(app: nil)))
      for socket in sockets { socket.send(request) }
      usleep(100)
    }
  }

  private static let hello = frame(.request(id: 1, request: .hello(Hello(role: .operator))))

  private static func operators(_ path: String) -> [HostileSocket] {
    (0..<200).compactMap { _ in
      let socket = HostileSocket(path)
      socket?.send(hello)
      return socket
    }
  }

  private static func frame(_ message: ClientMessage) -> [UInt8] { (try? FrameCodec.encode(message)) ?? [] }
}

/// A connection that never waits, whatever becomes of what it sends.
private final class HostileSocket {
  private let descriptor: Int32

  init?(_ path: String) {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if result != 0 { return nil }
  }

  deinit { close(descriptor) }

  func send(_ bytes: [UInt8]) {
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }

  func readAll() {
    withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) {
      while recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) > 0 {}
    }
  }
}
