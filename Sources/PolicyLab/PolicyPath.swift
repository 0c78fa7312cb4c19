internal import Basics

/// A path that a plugin named, as a policy can have it.
enum PolicyPath {
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
