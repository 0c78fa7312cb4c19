internal import CLinux
internal import Dispatch
internal import Glibc
internal import LinuxSystem
internal import ServiceProtocol

/// The service's socket: takes connections of this user, and nobody else's.
///
/// @unchecked Sendable: everything that changes is touched on `queue` only.
final class ClientListener: @unchecked Sendable {
  /// A socket that can't be listened on, as a sentence with its remedy.
  struct Refusal: Error, Sendable, CustomStringConvertible {
    let description: String
  }

  let queue = DispatchQueue(label: "outrider.clients")
  private let socket: Int32
  /// nil where the socket was handed down: it isn't ours to remove.
  private let path: String?
  private let source: any DispatchSourceRead
  private let receive: @Sendable (ConnectionID, ClientConnection.Arrival) -> Void
  private let opened: @Sendable (ClientConnection) -> Void
  private var admission: ConnectionAdmission
  private var shares: [Int32: ProcessShare] = [:]
  private var next: Int64 = 1
  private var isPaused = false

  /// `opened` is called before anything of a connection is received; both on `queue`.
  init(
    listeningOn socket: consuming OwnedDescriptor, path: String?,
    opened: @escaping @Sendable (ClientConnection) -> Void,
    receive: @escaping @Sendable (ConnectionID, ClientConnection.Arrival) -> Void
  ) {
    let number = socket.release()
    self.socket = number
    self.path = path
    self.opened = opened
    self.receive = receive
    admission = ConnectionAdmission(openFiles: Files.mostOpen)
    source = DispatchSource.makeReadSource(fileDescriptor: number, queue: queue)
    source.setEventHandler { [weak self] in self?.accept() }
    source.setCancelHandler { Glibc.close(number) }
    source.resume()
  }

  /// Takes no more connections and removes the socket.
  func stop() {
    queue.sync {
      if let path { unlink(path) }
      if isPaused { source.resume() }
      source.cancel()
    }
  }

  /// A socket at `path`, in a folder of this user's alone. One that nobody listens on any more is replaced: whoever holds
  /// the lock of the service is the only one who may.
  static func bind(_ path: String) throws(Refusal) -> OwnedDescriptor {
    let folder = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
    try checkLength(path)
    do throws(SystemCallError) {
      try Files.makeDirectories(folder, mode: 0o700)
      let identity = try Files.identity(of: folder)
      guard identity.owner == geteuid(), identity.mode & 0o077 == 0 else {
        throw SystemCallError("socket folder", code: EPERM, subject: folder)
      }
      unlink(path)
      let descriptor = OwnedDescriptor(
        taking: try checkErrno("socket", path) {
          Glibc.socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        })
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let number = descriptor.number
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      guard result == 0 else { throw SystemCallError("bind", code: errno, subject: path) }
      try checkErrno("chmod", path) { chmod(path, 0o600) }
      try checkErrno("listen", path) { listen(number, 128) }
      return descriptor
    } catch {
      let remedy =
        error.code == EPERM
        ? "make it yours alone (chmod 700), or name another folder with --state" : "name another folder with --state"
      throw Refusal(description: "the service can't listen on \(path): \(error.description); \(remedy)")
    }
  }

  static func checkLength(_ path: String) throws(Refusal) {
    guard path.utf8.count > ServicePaths.maxSocketPath else { return }
    throw Refusal(
      description:
        "the socket's path has \(path.utf8.count) bytes, and the kernel takes \(ServicePaths.maxSocketPath) (unix(7)): \(path); name a shorter folder with --state"
    )
  }

  // MARK: On the queue

  private func accept() {
    for _ in 0..<64 {
      var connection: Int32 = -1
      let code = ol_accept(socket, &connection)
      guard code == 0 else {
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) { pause() }
        return
      }
      admit(OwnedDescriptor(taking: connection))
    }
  }

  private func admit(_ socket: consuming OwnedDescriptor) {
    // Another user is turned away before a byte is read.
    guard let peer = try? Peer(of: socket.number), peer.user == geteuid() else { return }
    let process = peer.process
    do throws(ConnectionAdmission.Refusal) { try admission.admit(process) } catch { return refuse(socket, error) }
    let id = ConnectionID(number: next)
    next += 1
    let share = shares[process] ?? ProcessShare()
    shares[process] = share
    let connection = ClientConnection(id, taking: socket.release(), of: peer, sharing: share, on: queue) {
      [receive, weak self] id, arrival in
      if case .closed = arrival { self?.closed(process) }
      receive(id, arrival)
    }
    opened(connection)
    connection.start()
  }

  private func closed(_ process: Int32) {
    admission.release(process)
    if admission.counts[process] == nil { shares[process] = nil }
  }

  /// A new socket takes so much at once, whether anybody reads it or not.
  private func refuse(_ socket: borrowing OwnedDescriptor, _ refusal: ConnectionAdmission.Refusal) {
    let failure = ServiceFailure.framework(56, refusal.message, remedy: refusal.remedy)
    guard let frame = try? FrameCodec.encode(ServiceMessage.failure(id: 0, failure: failure)) else { return }
    _ = Glibc.send(socket.number, frame, frame.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }

  /// No descriptors are left: those who wait are taken when there are some again.
  private func pause() {
    isPaused = true
    source.suspend()
    queue.asyncAfter(deadline: .now() + .milliseconds(200)) { [weak self] in
      guard let self, isPaused else { return }
      isPaused = false
      source.resume()
    }
  }
}
