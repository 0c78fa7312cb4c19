internal import Basics
internal import Glibc
internal import LinuxSystem

/// A path that a plugin named, as a policy can have it.
package enum PolicyPath {
  /// Whether it is a folder that every user may write to.
  package static func isOpenToAll(_ path: String) -> Bool {
    (try? Files.identity(of: path)).map { $0.isDirectory && $0.mode & S_IWOTH != 0 } ?? false
  }

  /// Without what says nothing (`//`, `.`) and without `..`, which no policy may have; nil: no policy can name it.
  static func named(_ path: String) -> String? {
    guard path.isAbsolutePath, path.utf8.count < 4096, !path.utf8.contains(0) else { return nil }
    var parts: [String] = []
    for part in path.pathNames {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }
}
