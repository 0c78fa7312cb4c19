internal import Glibc
internal import LinuxSystem

/// What the starter of the service, systemd or a command that needs one, hands over and wants to be told.
struct Handed {
  private let environment: [String: String]
  private let readyDescriptor: Int32?

  init(environment: [String: String], readyDescriptor: Int32?) {
    self.environment = environment
    self.readyDescriptor = readyDescriptor
    if let readyDescriptor { _ = fcntl(readyDescriptor, F_SETFD, FD_CLOEXEC) }
  }

  /// The socket of a systemd unit (sd_listen_fds(3)); nil: there is none.
  func socket() -> OwnedDescriptor? {
    guard hasSocket else { return nil }
    let first: Int32 = 3
    guard fcntl(first, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
    _ = fcntl(first, F_SETFL, fcntl(first, F_GETFL) | O_NONBLOCK)
    return OwnedDescriptor(taking: first)
  }

  var hasSocket: Bool { environment["LISTEN_PID"] == "\(getpid())" && environment["LISTEN_FDS"] == "1" }

  var isUnderSystemd: Bool { environment["INVOCATION_ID"] != nil }

  /// `ready`, or one line that says why not.
  func tell(_ line: String) {
    if let readyDescriptor {
      var text = line + "\n"
      text.withUTF8 { _ = write(readyDescriptor, $0.baseAddress, $0.count) }
      close(readyDescriptor)
    }
  }

  /// sd_notify(3): a datagram to the socket that the environment names.
  func notify(_ state: String) {
    guard let path = environment["NOTIFY_SOCKET"], path.utf8.count < 108, let first = path.first, "/@".contains(first)
    else { return }
    let number = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { return }
    let socket = OwnedDescriptor(taking: number)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var name = Array(path.utf8)
    // An abstract name begins with a NUL (unix(7)).
    if first == "@" { name[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    var state = state
    state.withUTF8 { bytes in
      _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(socket.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
        }
      }
    }
  }
}
