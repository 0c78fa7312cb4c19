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

/// The connection that a transfer has.
struct ConnectionUse {
  let kept: KeptSockets
  var ends: KeptSockets.Ends?
  /// Opened for this transfer; otherwise it has served another one.
  var isNew = false
  /// Something lay there that nobody had asked for.
  var isSpoilt = false
}
