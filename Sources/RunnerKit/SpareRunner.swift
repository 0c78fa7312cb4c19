internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// A runner that was forked before anyone asked for it. It has faulted in what it will need, stands in namespaces of its
/// own, and waits for what it is to be: every wall is still to be closed, and nothing of a plugin is mapped.
struct SpareRunner {
  let pid: pid_t
  let pidfd: Int32
  private let socket: Int32
  /// Readable when it has come to the end of its preparations, or of its life. Not the socket: closed with a byte unread
  /// it would take back what was sent on it.
  let readiness: Int32

  /// In the server. nil when there can't be one now; a wake then forks its own.
  init?(
    of namespaces: ServerNamespaces, pages: HotPages?, cgroup: Int32?, without descriptors: [Int32],
    inbox: inout [UInt8]
  ) {
    guard let (mine, theirs) = try? Sockets.pair(stream: false) else { return nil }
    var (reader, writer) = (Int32(-1), Int32(-1))
    var pid: pid_t = 0
    guard ol_pipe(&reader, &writer) == 0, namespaces.fork(&pid) == 0 else {
      for descriptor in [mine, theirs, reader, writer] where descriptor >= 0 { Glibc.close(descriptor) }
      return nil
    }
    if pid == 0 {
      // The end of a server without a pid namespace doesn't end its runners.
      _ = ol_set_parent_death_signal(SIGKILL)
      // Held here they would outlive the server.
      for descriptor in descriptors + [mine, reader] { Glibc.close(descriptor) }
      // First, so that its memory is charged where it will belong. The kernel may take an RCU grace period for it, which
      // is many milliseconds of a busy machine.
      var steps = Runner.Done(meters: namespaces.ownMeters())
      steps.hasJoinedCgroup = cgroup.map { write($0, "0", 1) == 1 } ?? false
      pages?.populate()
      steps.isApart = namespaces.template != nil && ol_unshare(ol_new_mount) == 0
      var byte: UInt8 = 1
      _ = write(writer, &byte, 1)
      Glibc.close(writer)
      Self.wait(on: theirs, namespaces, steps, &inbox)
    }
    Glibc.close(theirs)
    Glibc.close(writer)
    var pidfd: Int32 = -1
    guard ol_pidfd_open(pid, &pidfd) == 0 else {
      kill(pid, SIGKILL)
      Glibc.close(mine)
      Glibc.close(reader)
      return nil
    }
    self.pid = pid
    self.pidfd = pidfd
    socket = mine
    readiness = reader
  }

  /// The server's ends, all but the pidfd.
  func close() {
    Glibc.close(socket)
    Glibc.close(readiness)
  }

  func isReady() -> Bool {
    var byte: UInt8 = 0
    return read(readiness, &byte, 1) == 1
  }

  /// Hands a request over, as it came from the host, ready or not. False when the spare is gone.
  func become(_ request: ArraySlice<UInt8>, descriptors: [Int32]) -> Bool {
    // As it lies there: a copy would stay in the server's memory.
    var sent = 0
    let code = request.withUnsafeBytes {
      ol_send(socket, $0.baseAddress, $0.count, descriptors, descriptors.count, 0, &sent)
    }
    return code == 0 && sent == request.count
  }

  /// Never returns into the server.
  private static func wait(
    on socket: Int32, _ namespaces: ServerNamespaces, _ steps: Runner.Done, _ inbox: inout [UInt8]
  ) -> Never {
    guard let message = try? Sockets.receive(socket, into: &inbox, maxDescriptors: Int(OL_MOST_DESCRIPTORS)),
      message.count > 0, !message.wasTruncated
    else { ol_exit_now(0) }
    Glibc.close(socket)
    Runner.live(
      inbox[0..<message.count], descriptors: message.descriptors, namespaces: namespaces, done: steps, binding: false)
  }
}
