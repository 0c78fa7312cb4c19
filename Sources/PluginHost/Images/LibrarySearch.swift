internal import Glibc
internal import LinuxSystem

/// Finds a library by its name as the system's loader does (ld.so(8)): LD_LIBRARY_PATH, the cache, the default paths.
enum LibrarySearch {
  static func find(_ name: String) -> String? {
    guard !name.isEmpty, !name.utf8.contains(0) else { return nil }
    var directories: [String] = []
    if let path = getenv("LD_LIBRARY_PATH") {
      directories += String(cString: path).split(separator: ":").map(String.init)
    }
    if let first = directories.map({ "\($0)/\(name)" }).first(where: isFile) { return first }
    if let cached = LoaderCache.current.paths(of: name).first(where: Files.exists) { return cached }
    directories = [
      "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
      "/usr/lib",
    ]
    return directories.map { "\($0)/\(name)" }.first(where: isFile)
  }

  /// A folder that happens to bear the name is no library.
  private static func isFile(_ path: String) -> Bool { (try? Files.identity(of: path))?.isRegularFile ?? false }
}
