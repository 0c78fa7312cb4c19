internal import Glibc

/// Why there is no connection to the service, or no longer one.
package struct ServiceConnectionError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Reason: Sendable, Equatable {
    /// A system call failed, with its `errno`.
    case system(call: String, errno: Int32)
    /// The path has more bytes than the address of a socket holds (unix(7)).
    case pathTooLong(bytes: Int, max: Int)
    /// The process at the other end runs as another user.
    case foreignPeer(uid: UInt32, own: UInt32)
    /// The descriptor that was handed over isn't a connected stream socket of this machine.
    case notASocket(descriptor: Int32)
    /// The service sent what isn't a message.
    case malformed(String)
    /// The message has more bytes than a frame may have.
    case messageTooLong(bytes: Int, max: Int)
    /// The service has read nothing for that many seconds.
    case unread(seconds: Int)
    /// The service hasn't answered a request for that many seconds.
    case unanswered(seconds: Int)
    /// More messages came than this program takes.
    case overrun(messages: Int)
    case closed
  }

  package var reason: Reason
  /// Of the socket; nil for a connection that was handed over.
  package var path: String?

  package init(_ reason: Reason, path: String?) {
    self.reason = reason
    self.path = path
  }

  /// Whether nothing answers at the socket: the service doesn't run.
  package var isServiceAbsent: Bool {
    guard case .system("connect", let code) = reason else { return false }
    return code == ENOENT || code == ECONNREFUSED || code == ENOTDIR
  }

  /// What failed, on what and why.
  package var message: String {
    let place = path.map { "'\($0)'" } ?? "the connection that was handed down"
    return switch reason {
    case .system("connect", _) where isServiceAbsent:
      "the service isn't running: nothing answers at \(place) (\(text(of: code)))"
    case .system(let call, let code): "\(call) failed on \(place): \(text(of: code))"
    case .pathTooLong(let bytes, let max):
      "the path of the socket \(place) has \(bytes) bytes; a socket's path has at most \(max)"
    case .foreignPeer(let uid, let own): "the program at \(place) runs as user \(uid), and this one as user \(own)"
    case .notASocket(let descriptor): "descriptor \(descriptor) isn't a connected Unix stream socket"
    case .malformed(let why): "what came from \(place) isn't a message of the service: \(why)"
    case .messageTooLong(let bytes, let max): "a message to the service has \(bytes) bytes; at most \(max) are allowed"
    case .unread(let seconds): "the service at \(place) has read nothing for \(seconds) s"
    case .unanswered(let seconds): "the service at \(place) hasn't answered for \(seconds) s"
    case .overrun(let messages): "more than \(messages) messages of the service waited to be read by this program"
    case .closed: "the service closed the connection at \(place)"
    }
  }

  /// What to do about it.
  package var remedy: String? {
    switch reason {
    case .system("connect", _) where isServiceAbsent:
      "start it with 'outrider service run', or by any command of outrider"
    case .system("connect", EACCES): "the folder of the socket is the user's own; run this program as that user"
    case .system: nil
    case .pathTooLong: "choose a state folder with a shorter path (OUTRIDER_STATE, or --state)"
    case .foreignPeer: "run this program as the user whose service it is, or remove the foreign socket"
    case .notASocket: "unset OUTRIDER_CONNECTION, or start the program by 'outrider launch'"
    case .malformed: "check that service and program are of the same version of Outrider"
    case .messageTooLong: "shorten the request's body or header fields"
    case .unread, .unanswered: "look at 'outrider service status'"
    case .overrun: "read the messages as they come"
    case .closed: "call again: the connection is made anew"
    }
  }

  package var description: String { remedy.map { "\(message); \($0)" } ?? message }

  private var code: Int32 { if case .system(_, let code) = reason { code } else { 0 } }

  /// Thread-safe since glibc 2.32 (strerror(3)).
  private func text(of code: Int32) -> String { String(cString: strerror(code)) }
}
