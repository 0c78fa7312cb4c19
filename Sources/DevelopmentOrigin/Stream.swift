internal import COpenSSL
internal import Glibc
internal import LinuxSystem

/// Why a connection is over.
enum StreamEnd: Error, Equatable {
  case closed
  case timedOut
  case stopped
}

/// One accepted connection, in plain text or with TLS. Its socket doesn't block: each wait is also one for the stop.
struct Stream: ~Copyable {
  private let socket: OwnedDescriptor
  private let stop: StopSignal
  private let writeLimit: Duration
  private var tls: OpaquePointer?

  init(_ socket: consuming OwnedDescriptor, stop: StopSignal, writeLimit: Duration) {
    self.socket = socket
    self.stop = stop
    self.writeLimit = writeLimit
    tls = nil
  }

  deinit {
    if let tls { SSL_free(tls) }
  }

  var isEncrypted: Bool { tls != nil }
  var number: Int32 { socket.number }
  var stopSignal: StopSignal { stop }

  /// The server's side of a TLS handshake.
  mutating func startTLS(_ context: OpaquePointer, within limit: Duration) throws(StreamEnd) {
    guard let tls = SSL_new(context) else { throw .closed }
    self.tls = tls
    SSL_set_fd(tls, socket.number)
    while true {
      ERR_clear_error()
      let result = SSL_accept(tls)
      if result == 1 { return }
      try waitForTLS(tls, result, limit)
    }
  }

  /// The common name in the certificate that the client showed, if it did.
  var peerName: String? {
    guard let tls, let certificate = SSL_get0_peer_certificate(tls) else { return nil }
    var text = [CChar](repeating: 0, count: 256)
    let count = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, &text, 256)
    return count > 0 ? String(decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
  }

  /// What ALPN chose; nil without.
  var applicationProtocol: String? {
    guard let tls else { return nil }
    var bytes: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(tls, &bytes, &count)
    return bytes.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(count)), as: UTF8.self) }
  }

  private func waitForTLS(_ tls: OpaquePointer, _ result: Int32, _ limit: Duration?) throws(StreamEnd) {
    switch SSL_get_error(tls, result) {
    case SSL_ERROR_WANT_READ: try wait(POLLIN, limit)
    case SSL_ERROR_WANT_WRITE: try wait(POLLOUT, limit)
    default: throw .closed
    }
  }

  private func wait(_ events: Int32, _ limit: Duration?) throws(StreamEnd) {
    switch stop.wait(socket.number, events, for: limit) {
    case .ready: return
    case .timedOut: throw .timedOut
    case .stopped: throw .stopped
    }
  }

  /// At least one byte; 0 at the end of what the client sends.
  func read(into buffer: UnsafeMutableRawBufferPointer, within limit: Duration) throws(StreamEnd) -> Int {
    guard let base = buffer.baseAddress else { return 0 }
    if let tls {
      while true {
        ERR_clear_error()
        let result = SSL_read(tls, base, Int32(clamping: buffer.count))
        if result > 0 { return Int(result) }
        if SSL_get_error(tls, result) == SSL_ERROR_ZERO_RETURN { return 0 }
        try waitForTLS(tls, result, limit)
      }
    }
    while true {
      let result = recv(socket.number, base, buffer.count, Int32(MSG_DONTWAIT))
      if result >= 0 { return result }
      guard errno == EAGAIN || errno == EINTR else { throw .closed }
      try wait(POLLIN, limit)
    }
  }

  /// Everything, in pieces as large as the socket takes.
  func write(_ bytes: UnsafeRawBufferPointer) throws(StreamEnd) {
    guard let base = bytes.baseAddress else { return }
    var done = 0
    while done < bytes.count {
      if let tls {
        ERR_clear_error()
        let result = SSL_write(tls, base + done, Int32(clamping: bytes.count - done))
        if result > 0 { done += Int(result) } else { try waitForTLS(tls, result, writeLimit) }
        continue
      }
      let result = send(socket.number, base + done, bytes.count - done, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      if result >= 0 {
        done += result
      } else if errno == EAGAIN || errno == EINTR {
        try wait(POLLOUT, writeLimit)
      } else {
        throw .closed
      }
    }
  }

  func write(_ bytes: [UInt8]) throws(StreamEnd) {
    var failure: StreamEnd?
    bytes.withUnsafeBytes { buffer in
      do throws(StreamEnd) { try write(buffer) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Bytes of a file, without their passing through this process. Only in plain text.
  func sendFile(_ file: Int32, _ range: Range<Int>) throws(StreamEnd) {
    var offset = off_t(range.lowerBound)
    while offset < range.upperBound {
      let result = sendfile(socket.number, file, &offset, min(range.upperBound - Int(offset), 1 << 30))
      if result == 0 { throw .closed }
      guard result < 0 else { continue }
      guard errno == EAGAIN || errno == EINTR else { throw .closed }
      try wait(POLLOUT, writeLimit)
    }
  }

  /// Lets time pass. Ends early when the connection is dead or the origin stops.
  func pause(_ time: Duration) throws(StreamEnd) {
    guard time > .zero else { return }
    switch stop.wait(socket.number, 0, for: time) {
    case .timedOut: return
    case .ready: throw .closed
    case .stopped: throw .stopped
    }
  }

  /// Reads and forgets until the client closes, or for so long.
  func drain(for limit: Duration?) throws(StreamEnd) {
    let deadline = limit.map { BootClock.now + $0 }
    var buffer = [UInt8](repeating: 0, count: 16384)
    while true {
      let left = deadline.map { $0 - BootClock.now }
      if let left, left <= .zero { return }
      try wait(POLLIN, left)
      let result = recv(socket.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if result == 0 || result < 0 && errno != EAGAIN && errno != EINTR { return }
    }
  }

  /// FIN; with TLS after its own farewell.
  func closeSending() {
    if let tls { SSL_shutdown(tls) }
    shutdown(socket.number, Int32(SHUT_WR))
  }

  /// Makes the close that follows a reset.
  func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket.number, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
