internal import Basics
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost

/// A path that a plugin named, as a policy can have it.
package enum PolicyPath {
  /// Whether it is a folder that every user may write to.
  package static func isOpenToAll(_ path: String) -> Bool {
    (try? Files.identity(of: path)).map { $0.isDirectory && $0.mode & S_IWOTH != 0 } ?? false
  }

  /// How the names in a folder are granted: alone, where a plugin hasn't a right to read that holds around it.
  static func listing(_ folder: String) -> PathAccess { RunnerView.own(around: folder) == nil ? .list : .read }

  /// As a person wrote it: without what says nothing (`//`, `.`) and without `..`, which no policy may have; nil: no policy can name it.
  static func named(_ path: String) -> String? {
    guard path.isAbsolutePath, path.utf8.count < 4096, !path.utf8.contains(0) else { return nil }
    var parts: [String] = []
    for part in path.pathNames {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }

  /// What there is to know of the folders before each `..`.
  struct Machine {
    var isFolder: (String) -> Bool
    /// Without symbolic links; the path itself where it leads to nothing.
    var real: (String) -> String
    /// The names to which links lead on the way to a path (`LinkHops`).
    var hops: (String) -> [String]

    static var this: Machine {
      Machine(
        isFolder: { Files.isFolder($0) ?? false }, real: { path in (try? Files.real(path)) ?? path },
        hops: { LinkHops.all(from: $0, link: Files.link) })
    }
  }

  static let untold =
    "what it means can't be told: what comes before '..' is no folder on this machine, or another one for each process"

  /// More of them are a plugin's that wants to keep its host busy.
  private static let maxDetouredNames = 64

  /// What a plugin asked for by a path: `..` leaves the folder to which the links before it lead, as it does for the kernel
  /// (path_resolution(7)), and another name would grant what the plugin never asked for. nil: no policy can name it, or what it means
  /// can't be told.
  static func asked(_ path: String, on machine: Machine) -> String? {
    let names = path.pathNames
    guard names.contains(".."), path.isAbsolutePath, path.utf8.count < 4096, !path.utf8.contains(0) else {
      return named(path)
    }
    guard names.count <= maxDetouredNames else { return nil }
    var place = ""
    for name in names {
      guard name == ".." else {
        place += "/" + name
        continue
      }
      guard !place.isEmpty else { continue }
      guard let parent = folder(place, on: machine)?.parentFolder else { return nil }
      place = parent == "/" ? "" : parent
    }
    return place.isEmpty ? "/" : place
  }

  /// Without links; nil: it isn't there, or is another one for each process.
  private static func folder(_ path: String, on machine: Machine) -> String? {
    let real = machine.real(path)
    // What a plugin has of its own is reported without links, and needn't be on the machine.
    if RunnerView.own.contains(where: { path.lies(in: $0) }) { return real == path ? path : nil }
    guard machine.isFolder(path) else { return nil }
    let isSame = real == path || RevealingFolder.rejectionReason(for: path, hops: machine.hops(path) + [real]) == nil
    return isSame ? real : nil
  }
}
