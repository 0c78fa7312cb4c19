internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// What a caller wants to have loaded.
struct LoadRequest: Sendable {
  /// A folder that the plugin may write.
  struct Container: Sendable {
    /// "" stands for every group.
    var group: String
    var path: String
    /// Of a folder that the caller named; nil for one that the host made.
    var identity: FileIdentity?

    /// As it is now, where it wasn't named.
    func folder() throws(HostError) -> PluginImage.File {
      if let identity { return PluginImage.File(path: path, identity: identity) }
      do throws(SystemCallError) {
        return PluginImage.File(path: path, identity: try Files.identity(of: path))
      } catch {
        throw .failed(error.description)
      }
    }
  }

  var image: PluginImage
  var policy: Policy
  var options: PluginHost.LoadOptions
  var isBare: Bool
  var proof: [Canary.Finding]
  /// nil: what the plugin needs.
  var wantedPreload: Preload?
  /// The folders that the caller named, as they were found; none: one that the host makes.
  var containers: [Container] = []
  /// How long the host read the files, which is a part of the load's wall time.
  var reading = Duration.zero
  let ticket = CallTicket()
  let requested = BootClock.now

  var preload: Preload { wantedPreload ?? Preload(for: image) }

  /// On the caller's thread: plugins write there, so the folders may hold any number of files.
  mutating func openContainers() throws(HostError) {
    // Before anything goes by it: what a pattern stands for may be writable.
    policy = try PatternExpansion.resolved(policy)
    // Which paths are named is most of what there is to see.
    if self.options.trace != nil { policy.observesFiles = true }
    var wanted = options.containers.map { (group: $0.group, path: $0.path) }
    if let path = options.container {
      guard wanted.isEmpty else { throw .usage("name either one container, or one for each app group") }
      wanted = [("", path)]
    }
    if let rejectionReason = GroupContainers.rejectionReason(for: wanted.map(\.group)) { throw .usage(rejectionReason) }
    for (group, path) in wanted {
      // A plugin that may write to one may have made the way to another.
      let writable = RunPath.writable(under: policy, containers: []) + containers.compactMap(\.identity)
      let folder = try Self.open(container: path, writable: writable)
      containers.append(Container(group: group, path: folder.path, identity: folder.identity))
    }
  }

  private static func open(container path: String, writable: [FileIdentity]) throws(HostError) -> PluginImage.File {
    let named = try RunPath(opening: path, writable: writable)
    guard named.identity.isDirectory else { throw .input("\(path): \(SystemCallError.message(ENOTDIR))") }
    try refuseRoot(as: named.identity)
    if let reason = MachineFolder.rejectionReason(forWriting: named.path) {
      throw .usage("the container \(path) \(reason); name a folder of the plugin's own")
    }
    StagedFile.sweep(named.path)
    return PluginImage.File(path: named.path, identity: named.identity)
  }

  private static func refuseRoot(as found: FileIdentity) throws(HostError) {
    guard let root = try? Files.identity(of: "/") else { return }
    guard (root.device, root.inode) != (found.device, found.inode) else {
      throw .usage("the container leads to /, which is everything; name a folder of the plugin's own")
    }
  }
}
