internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// A runner that was forked before anyone asked for it. It has faulted in what it will need, stands in a mount namespace
/// of its own, and waits for what it is to be: every wall is still to be closed, and nothing of a plugin is mapped.
struct SpareRunner {
  let pid: pid_t
  let pidfd: Int32
  private let socket: Int32

  /// In the server. nil when there can't be one now; a wake then forks its own.
  init?(
    of namespaces: ServerNamespaces, binding deep: Bool, pages: HotPages?, serverDescriptors: [Int32], inbox: inout [UInt8]
  ) {
    guard let (mine, theirs) = try? Sockets.pair(stream: false) else { return nil }
    var pid: pid_t = 0
    guard namespaces.fork(&pid) == 0 else {
      close(mine)
      close(theirs)
      return nil
    }
    if pid == 0 {
      // Held here they would outlive the server.
      for descriptor in serverDescriptors + [mine] { close(descriptor) }
      pages?.populate()
      let isApart = namespaces.template != nil && ol_unshare(ol_new_mount) == 0
      Self.wait(on: theirs, namespaces.template, isApart: isApart, binding: deep, &inbox)
    }
    close(theirs)
    var pidfd: Int32 = -1
    guard ol_pidfd_open(pid, &pidfd) == 0 else {
      kill(pid, SIGKILL)
      close(mine)
      return nil
    }
    self.pid = pid
    self.pidfd = pidfd
    socket = mine
  }

  /// Hands a request over, as it came from the host. False when the spare is gone.
  func become(_ request: ArraySlice<UInt8>, descriptors: [Int32], clones: [Int32]) -> Bool {
    defer { close(socket) }
    // How many of the descriptors come from the host.
    let bytes = [UInt8(descriptors.count)] + request
    guard descriptors.count + clones.count <= Int(OL_MOST_DESCRIPTORS) else { return false }
    return (try? Sockets.send(socket, bytes, descriptors: descriptors + clones)) != nil
  }

  /// Never returns into the server.
  private static func wait(
    on socket: Int32, _ template: Template?, isApart: Bool, binding deep: Bool, _ inbox: inout [UInt8]
  ) -> Never {
    guard let message = try? Sockets.receive(socket, into: &inbox, mostDescriptors: Int(OL_MOST_DESCRIPTORS)), message.count > 1,
      !message.wasTruncated, let request = try? SpawnRequest(decoding: inbox[1..<message.count])
    else { ol_exit_now(0) }
    close(socket)
    let count = Int(inbox[0])
    guard count <= message.descriptors.count else { ol_exit_now(70) }
    Runner.live(
      request, descriptors: Array(message.descriptors[..<count]), clones: Array(message.descriptors[count...]),
      template: template, isApart: isApart, binding: deep)
  }
}
