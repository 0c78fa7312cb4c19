internal import Basics
internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import ServiceProtocol

/// The service's socket: takes connections of this user only.
///
/// @unchecked Sendable: touched on the service's loop only.
final class ClientListener: @unchecked Sendable {
  /// A socket that can't be listened on, as a sentence with its remedy.
  struct Refusal: Error, Sendable, CustomStringConvertible {
    let description: String
  }

  /// Bytes of long answers to one process after which the memory is given back that they took.
  private static let maxKept = 4 << 20

  private let socket: OwnedDescriptor
  private let loop: EventLoop
  /// nil where the socket was handed down: it isn't ours to remove.
  private let path: String?
  private let receive: @Sendable (ConnectionID, ClientConnection.Arrival) -> Void
  private let opened: @Sendable (ClientConnection) -> Void
  private var admission: ConnectionAdmission
  private var shares: [Int32: ProcessShare] = [:]
  private var next: Int64 = 1
  private var watched: UInt64 = 0
  private enum Timer: UInt8 { case retry, release }
  private let timers: TimerKeys<Timer>

  /// `opened` is called before anything of a connection is received; both, and this, on the loop.
  init(
    listeningOn socket: consuming OwnedDescriptor, path: String?, on loop: EventLoop,
    opened: @escaping @Sendable (ClientConnection) -> Void,
    receive: @escaping @Sendable (ConnectionID, ClientConnection.Arrival) -> Void
  ) throws(SystemCallError) {
    self.socket = socket
    self.loop = loop
    self.path = path
    self.opened = opened
    self.receive = receive
    admission = ConnectionAdmission(openFiles: Files.maxOpen)
    timers = loop.newTimers()
    watched = try loop.watch(self.socket.number) { [weak self] in self?.accept() }
  }

  /// Takes no more connections and removes the socket.
  func stop() {
    for timer in [Timer.retry, .release] { loop.setTimer(timers[timer], at: nil) }
    loop.stop(watched)
    // A socket that was handed down goes on collecting connections for the next service.
    guard let path else { return }
    unlink(path)
    shutdown(socket.number, Int32(SHUT_RDWR))
  }

  /// A socket at `path`, in a folder of this user's alone. One that no process listens on any more is replaced: only
  /// the process that holds the service's lock does that.
  static func bind(_ path: String) throws(Refusal) -> OwnedDescriptor {
    let folder = path.parentFolder ?? ""
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

  // MARK: Connections

  /// One in each turn of the loop: those who are connected wait behind no more.
  private func accept() {
    var connection: Int32 = -1
    let code = ol_accept(socket.number, &connection)
    guard code == 0 else {
      if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) { pause() }
      return
    }
    admit(OwnedDescriptor(taking: connection))
  }

  private func admit(_ socket: consuming OwnedDescriptor) {
    // Another user is turned away before a byte is read, and who has too many before more is learnt of them.
    guard let (process, user) = try? Peer.credentials(of: socket.number), user == geteuid() else { return }
    do throws(ConnectionAdmission.Refusal) { try admission.admit(process) } catch { return refuse(socket, error) }
    let peer: Peer
    do throws(SystemCallError) { peer = try Peer(of: socket.number) } catch {
      closed(process)
      return refuse(
        socket,
        .init(
          message: "the service can't look at process \(process): \(error.description)",
          remedy: "try again; 'outrider doctor' says what the service lacks"))
    }
    let id = ConnectionID(number: next)
    next += 1
    let share = shares[process] ?? ProcessShare(on: loop)
    shares[process] = share
    let connection = ClientConnection(id, taking: socket, of: peer, sharing: share, on: loop) {
      [receive, weak self] id, arrival in
      if case .closed = arrival { self?.closed(process) }
      receive(id, arrival)
    }
    opened(connection)
    connection.start()
  }

  private func closed(_ process: Int32) {
    admission.release(process)
    guard admission.counts[process] == nil, let share = shares.removeValue(forKey: process),
      share.bytesMade > Self.maxKept
    else { return }
    // What its answers took goes back to the system.
    loop.setTimer(timers[.release], at: BootClock.now + .seconds(1)) { Memory.releaseUnused() }
  }

  /// A new socket takes so much at once, whether its reader is there or not.
  private func refuse(_ socket: borrowing OwnedDescriptor, _ refusal: ConnectionAdmission.Refusal) {
    let failure = ServiceFailure.framework(56, refusal.message, remedy: refusal.remedy)
    guard let frame = try? FrameCodec.encode(ServiceMessage.failure(id: 0, failure: failure)) else { return }
    _ = Glibc.send(socket.number, frame, frame.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
  }

  /// No descriptors are left: those who wait are taken when there are some again.
  private func pause() {
    try? loop.change(watched, to: [])
    loop.setTimer(timers[.retry], at: BootClock.now + .milliseconds(200)) { [weak self] in
      guard let self else { return }
      try? loop.change(watched, to: .reading)
    }
  }
}
