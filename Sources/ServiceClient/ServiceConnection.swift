internal import Glibc
package import ServiceProtocol
internal import Synchronization

/// One connected Unix stream socket to the service (unix(7)).
///
/// Any number of threads may send; one may receive. The process at the other end must be of this process's user: a
/// program of another user that took the socket's place learns nothing. The descriptor is closed when the object goes, so
/// that its number is never another file's while a thread still uses it; `close()` only ends the conversation.
package final class ServiceConnection: Sendable {
  /// Seconds for which a message may stay unsent because the service reads nothing.
  package static let maxUnreadSeconds = 30
  /// Milliseconds after which recv(2) looks up by itself (SO_RCVTIMEO), so that a reader with more time than that needs no
  /// poll(2) before it.
  private static let longWait: Int32 = 1000

  /// Of the socket; nil for a connection that was handed over.
  package let path: String?
  let descriptor: Int32
  /// Held for the length of a frame: frames of two writers mustn't mix.
  private let writing = Mutex(false)
  private let incoming = Mutex(FrameAssembler())
  private let hasEnded = Atomic(false)

  /// Blocks no longer than the service's queue of connections is full.
  package static func connect(to path: String) throws(ServiceConnectionError) -> ServiceConnection {
    func failure(_ call: String) -> ServiceConnectionError { .init(.system(call: call, errno: errno), path: path) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count <= ServicePaths.maxSocketPath else {
      throw ServiceConnectionError(
        .pathTooLong(bytes: bytes.count, max: ServicePaths.maxSocketPath), path: path)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw failure("socket") }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        uninterrupted { Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) }
      }
    }
    guard result == 0 else {
      let error = failure("connect")
      _ = Glibc.close(descriptor)
      throw error
    }
    return try ServiceConnection(owning: descriptor, path: path)
  }

  /// Takes over a connected descriptor, which isn't inherited by children from now on.
  ///
  /// - Throws: If it isn't such a socket or the peer is another user's. The descriptor is closed if it is a socket of this
  ///   machine, and left alone otherwise.
  package convenience init(taking descriptor: Int32) throws(ServiceConnectionError) {
    guard descriptor >= 0, Self.option(SO_DOMAIN, of: descriptor) == AF_UNIX,
      Self.option(SO_TYPE, of: descriptor) == Int32(SOCK_STREAM.rawValue)
    else { throw ServiceConnectionError(.notASocket(descriptor: descriptor), path: nil) }
    try self.init(owning: descriptor, path: nil)
  }

  private init(owning descriptor: Int32, path: String?) throws(ServiceConnectionError) {
    self.descriptor = descriptor
    self.path = path
    // From here on `deinit` closes the descriptor, whatever is thrown.
    let flags = fcntl(descriptor, F_GETFL)
    var timeout = timeval(tv_sec: Self.maxUnreadSeconds, tv_usec: 0)
    var look = timeval(tv_sec: 0, tv_usec: Int(Self.longWait) * 1000 - 1000)
    guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, flags >= 0,
      fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0,
      setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size)) == 0,
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &look, socklen_t(MemoryLayout<timeval>.size)) == 0
    else { throw ServiceConnectionError(.system(call: "fcntl", errno: errno), path: path) }
    guard let peer = Self.peer(of: descriptor) else {
      throw ServiceConnectionError(.system(call: "getsockopt", errno: errno), path: path)
    }
    guard peer.user == geteuid() else {
      throw ServiceConnectionError(.foreignPeer(uid: peer.user, own: geteuid()), path: path)
    }
  }

  /// Which process listened on the socket: the service, or what handed it down to it. 0 where the kernel doesn't say.
  package var listener: Int32 { Self.peer(of: descriptor)?.process ?? 0 }

  /// struct ucred (unix(7), SO_PEERCRED).
  private static func peer(of descriptor: Int32) -> (process: Int32, user: UInt32, group: UInt32)? {
    var peer: (process: Int32, user: UInt32, group: UInt32) = (0, .max, .max)
    var length = socklen_t(MemoryLayout.size(ofValue: peer))
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer : nil
  }

  deinit { _ = Glibc.close(descriptor) }

  // MARK: Messages

  /// Sends one message, whole. A message that can't be sent whole ends the connection.
  package func send(_ message: ClientMessage) throws(ServiceConnectionError) {
    let frame: [UInt8]
    do { frame = try FrameCodec.encode(message) } catch {
      if case .tooLong(let bytes) = error {
        throw failure(.messageTooLong(bytes: bytes, max: FrameCodec.maxPayload))
      }
      throw failure(.malformed(error.description))
    }
    let reason: ServiceConnectionError.Reason? = writing.withLock { isBroken in
      guard !isBroken else { return .closed }
      let reason = transmit(frame)
      isBroken = reason != nil
      return reason
    }
    guard let reason else { return }
    close()
    throw failure(reason)
  }

  private func transmit(_ frame: [UInt8]) -> ServiceConnectionError.Reason? {
    var sent = 0
    while sent < frame.count {
      let count = frame.withUnsafeBytes { bytes in
        uninterrupted {
          Glibc.send(descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
        }
      }
      if count < 0 {
        switch errno {
        case EAGAIN: return .unread(seconds: Self.maxUnreadSeconds)
        case EPIPE, ECONNRESET: return .closed
        default: return .system(call: "send", errno: errno)
        }
      }
      sent += count
    }
    return nil
  }

  /// Waits for the next message; nil when the connection was closed, by either side, between two messages.
  ///
  /// What isn't a message ends the connection: nothing after it can be believed.
  package func receive() throws(ServiceConnectionError) -> ServiceMessage? { try receive(until: nil) }

  /// - Throws: `unanswered` when the time is up; the connection is as it was.
  func receive(until deadline: ContinuousClock.Instant?) throws(ServiceConnectionError) -> ServiceMessage? {
    while true {
      if let message = try buffered() { return message }
      var wait: Int32 = -1
      if let deadline {
        let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
        guard left > 0 else { throw failure(.unanswered(seconds: 0)) }
        wait = Int32(min(left.rounded(.up), Double(Int32.max)))
      }
      guard try read(atMost: wait) else { return nil }
    }
  }

  /// The next message of what has been read; nil: there is no whole one.
  func buffered() throws(ServiceConnectionError) -> ServiceMessage? {
    do throws(FrameCodec.Violation) {
      let payload = try incoming.withLock { (assembler) throws(FrameCodec.Violation) in try assembler.next() }
      return try payload.map { payload throws(FrameCodec.Violation) in
        try FrameCodec.decode(ServiceMessage.self, from: payload)
      }
    } catch {
      close()
      throw failure(.malformed(error.description))
    }
  }

  /// Reads what is there, without waiting. False: the connection has ended.
  func fill() throws(ServiceConnectionError) -> Bool { try read(atMost: 0) }

  /// Waits for so many milliseconds, or (-1) for as long as it takes. False: the connection has ended.
  private func read(atMost wait: Int32) throws(ServiceConnectionError) -> Bool {
    // A wait that has no end is recv(2)'s own.
    if wait > 0, wait < Self.longWait {
      var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if uninterrupted({ poll(&polled, 1, wait) }) == 0 { return true }
    }
    var failed: Int32 = 0
    let part = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
      let received = uninterrupted {
        recv(descriptor, buffer.baseAddress, buffer.count, wait == 0 ? Int32(MSG_DONTWAIT) : 0)
      }
      count = max(0, received)
      failed = received < 0 ? errno : 0
    }
    switch failed {
    case 0:
      if part.isEmpty { return false }
      incoming.withLock { $0.append(part) }
      return true
    case EAGAIN: return true
    // Unread bytes at the other end make its end a reset.
    case ECONNRESET: return false
    default:
      close()
      throw failure(.system(call: "recv", errno: failed))
    }
  }

  /// Ends the conversation in both directions: a thread that receives returns. May be called by any thread, repeatedly.
  package func close() {
    hasEnded.store(true, ordering: .sequentiallyConsistent)
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Whether this side knows that the conversation has ended. True before any caller is told so by a failed request.
  package var isClosed: Bool { hasEnded.load(ordering: .sequentiallyConsistent) }

  /// A second descriptor of the connection that children inherit, for a program that this process becomes (execve(2)).
  package func descriptorToInherit() throws(ServiceConnectionError) -> Int32 {
    let copy = dup(descriptor)
    guard copy >= 0 else { throw failure(.system(call: "dup", errno: errno)) }
    return copy
  }

  func failure(_ reason: ServiceConnectionError.Reason) -> ServiceConnectionError { .init(reason, path: path) }

  private static func option(_ name: Int32, of descriptor: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
  }
}

private func uninterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}
