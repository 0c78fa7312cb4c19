internal import AssetModel
internal import AssetStore
internal import Basics
internal import Glibc
internal import LinuxSystem
internal import ServiceProtocol

/// A service that has this command's state folder and listens at another socket: it was started with another `XDG_RUNTIME_DIR`.
struct ServiceElsewhere: Encodable, Equatable {
  var process: Int32
  /// Where it listens.
  var socket: String
  /// Where this command looks.
  var sought: String

  /// nil where no service has the folder, or the one that has it listens where this command looks, or nowhere yet.
  static func find(_ place: ServicePlace) -> Self? {
    guard let holder = AssetStore.holder(of: place.paths.store), holder.pid > 0,
      // A kernel of thousands of sockets tells of each in a line.
      let table = try? Files.text(of: "/proc/\(holder.pid)/net/unix", limit: 16 << 20)
    else { return nil }
    let folder = "/proc/\(holder.pid)/fd"
    let links = ((try? Files.names(in: folder)) ?? []).compactMap { Files.link("\(folder)/\($0)") }
    let sockets = listeners(in: table, among: Set(links)).filter { $0.hasSuffix("/\(ServicePaths.socketName)") }
    guard let socket = sockets.first, !sockets.contains(place.paths.socket) else { return nil }
    return Self(process: holder.pid, socket: socket, sought: place.paths.socket)
  }

  /// The paths that listening sockets of a table (proc_net(5), `unix`) are bound to.
  ///
  /// - Parameter descriptors: What a process's descriptors are, as `socket:[INODE]`; other sockets don't count.
  static func listeners(in table: String, among descriptors: Set<String>) -> [String] {
    table.split(separator: "\n").compactMap { line in
      // Num RefCount Protocol Flags Type St Inode Path; __SO_ACCEPTCON is a flag, and a path may have spaces.
      let fields = line.split(separator: " ", maxSplits: 7, omittingEmptySubsequences: true)
      guard fields.count == 8, let flags = UInt32(fields[3], radix: 16), flags & 0x10000 != 0,
        descriptors.contains("socket:[\(fields[6])]")
      else { return nil }
      return String(fields[7])
    }
  }

  var message: String {
    "process \(process) is the service of this state folder and listens at \(Printable.text(socket)), where this command looks at "
      + "\(Printable.text(sought)); \(remedy)"
  }

  private var remedy: String {
    let stop = "end it with 'kill \(process)', and the next command starts its own"
    guard let folder = socket.parentFolder else { return stop }
    if folder == ServicePaths.sharedRuntime(of: geteuid()) { return "unset XDG_RUNTIME_DIR, or \(stop)" }
    guard folder.hasSuffix("/outrider"), let runtime = folder.parentFolder else { return stop }
    return "set XDG_RUNTIME_DIR=\(Printable.text(runtime)), or \(stop)"
  }
}
