internal import CCurl
internal import Glibc

/// The sockets of connections that libcurl keeps for later requests. Before version 8 it uses one again although something
/// lies there that nobody asked for, and takes that for the next answer. Confined to the network thread.
final class KeptSockets {
  /// The two ends of a connection: before a request libcurl names them, but not the socket.
  struct Ends: Hashable {
    var remote: String
    var remotePort: Int32
    var local: String
    var localPort: Int32
  }

  private var sockets: [Ends: Int32] = [:]
  /// A number that is given out again belongs to other ends.
  private var ends: [Int32: Ends] = [:]

  func keep(_ socket: Int32, between ends: Ends) {
    if let old = self.ends.updateValue(ends, forKey: socket), old != ends { sockets[old] = nil }
    sockets[ends] = socket
  }

  func socket(between ends: Ends) -> Int32? { sockets[ends] }

  /// Whether nothing has come on it since the last answer. A session ticket that came late costs a handshake.
  func isQuiet(_ ends: Ends, of easy: UnsafeMutableRawPointer, mayBeHTTP2: Bool) -> Bool {
    switch oc_tls_unread(easy) {
    case OC_TLS_SOME: return false
    case OC_TLS_STREAMS: return true
    case OC_TLS_UNKNOWN where mayBeHTTP2: return true
    default: break
    }
    guard let socket = sockets[ends] else { return false }
    var byte: UInt8 = 0
    // Zero is its end.
    return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0
      && (errno == EAGAIN || errno == EWOULDBLOCK)
  }
}

/// The connection that a transfer has. Before version 8 libcurl doesn't tell its socket (`CURLINFO_ACTIVESOCKET`) as long as
/// the transfer lasts.
struct ConnectionUse {
  let kept: KeptSockets
  private(set) var ends: KeptSockets.Ends?
  /// While the transfer lasts.
  private(set) var socket: Int32?
  /// Opened for this transfer: several where a name has several addresses.
  private var opened: [Int32] = []
  /// Something lay there that nobody had asked for.
  var isSpoilt = false
  /// Its window was narrowed.
  var hasLimitedWindow = false

  init(kept: KeptSockets) { self.kept = kept }

  /// Otherwise the connection has served another transfer.
  var isNew: Bool { !opened.isEmpty }

  mutating func open(_ socket: Int32) {
    // A connection that it had before is closed, and its number may be another file's.
    self.socket = nil
    if !opened.contains(socket) { opened.append(socket) }
  }

  mutating func connect(between ends: KeptSockets.Ends) {
    self.ends = ends
    socket = isNew ? opened.last { Self.localPort(of: $0) == ends.localPort } : kept.socket(between: ends)
  }

  /// getsockname(2)
  private static func localPort(of socket: Int32) -> Int32? {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
    }
    // Both families have the port in the same place.
    guard result == 0, [AF_INET, AF_INET6].contains(Int32(address.sin6_family)) else { return nil }
    return Int32(UInt16(bigEndian: address.sin6_port))
  }
}
