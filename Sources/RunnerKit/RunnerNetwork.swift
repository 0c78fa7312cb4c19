internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// Makes a runner's network: a namespace of its own in which every address leads to its loopback, and whose listeners the host
/// has. Nothing of the plugin is mapped yet, and the rights over the namespace go with the walls.
struct RunnerNetwork {
  /// Connections that wait for the host to accept them. One more than that would be tried again a second later.
  private static let backlog: Int32 = 512

  let wanted: SpawnRequest.Network

  /// `channel`: where the host waits for the descriptors: what sees connections, then the listeners.
  ///
  /// Returns the listener that stays in the runner, for pairs.
  func open(_ namespaces: ServerNamespaces, channel: Int32) throws(SystemCallError) -> Int32 {
    try check("unshare", "CLONE_NEWNET") { ol_unshare(ol_new_network) }
    var hasSix: Int32 = 0
    try check("network", "lo") { ol_lead_all_to_loopback(&hasSix) }
    // No counter of a process shows them, and outside version 2 no cgroup does.
    for name in ["tcp_rmem", "tcp_wmem"] {
      try namespaces.set("sys/net/ipv4/\(name)", to: buffers)
    }
    var descriptors: [Int32] = []
    defer { for descriptor in descriptors { close(descriptor) } }
    var watcher: Int32 = -1
    try check("socket", "AF_PACKET") { ol_watch_connections(&watcher) }
    descriptors.append(watcher)
    for place in wanted.listeners { descriptors.append(try listen(place)) }
    try Sockets.send(channel, [1], descriptors: descriptors)
    return try listen(SpawnRequest.Network.pairing)
  }

  /// Least, at first, most (tcp(7), tcp_rmem and tcp_wmem).
  private var buffers: String {
    let most = wanted.bufferBytes
    return "\(min(4096, most)) \(min(65_536, most)) \(most)"
  }

  private func listen(_ place: SpawnRequest.Network.Place) throws(SystemCallError) -> Int32 {
    var listener: Int32 = -1
    var address = try ol_address(place)
    try check("listen", "\(place.address) \(place.port)") { ol_listen(&address, place.port, Self.backlog, &listener) }
    return listener
  }

  /// In the root that is still writable, and nowhere on the machine.
  func writeNames() throws(SystemCallError) {
    for (path, text) in [
      (RunnerView.hosts, wanted.hosts), (RunnerView.resolver, SpawnRequest.Network.resolverFile),
    ] {
      let file = try checkErrno("open", path) { Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o444) }
      try OwnedDescriptor(taking: file).write(text)
    }
  }
}

extension ol_address {
  fileprivate init(_ place: SpawnRequest.Network.Place) throws(SystemCallError) {
    guard [4, 16].contains(place.address.count) else {
      throw SystemCallError("listen", code: EAFNOSUPPORT, subject: "\(place.address)")
    }
    self.init()
    length = Int32(place.address.count)
    withUnsafeMutableBytes(of: &bytes) { $0.copyBytes(from: place.address) }
  }
}
