internal import Basics
internal import Foundation
internal import Glibc
internal import LinuxSystem

/// What `--manifest` names, as a file that an extension can open as often as it likes. A pipe can be read once only, as a
/// shell's `<(…)` hands it over: what comes out of it is kept in a file of its own until the run is over.
final class ManifestFile: Sendable {
  let path: String
  private let folder: String?

  /// `container`, `writable`: where plugins write. A pipe that lies there is theirs, and isn't waited for.
  init(_ named: String, container: String?, writable: [String]) throws {
    guard try Self.isPipe(named) else {
      (path, folder) = (named, nil)
      return
    }
    if let place = Self.place(of: named, among: writable + [container].compactMap(\.self)) {
      throw Failure(66, "--manifest \(named): is a pipe in \(place), which plugins may write to")
    }
    let content = try InputFile.content(of: named, limit: 64 << 20)
    do throws(SystemCallError) {
      let folder = try Files.temporaryDirectory(in: NSTemporaryDirectory(), prefix: "outrider-manifest-")
      (path, self.folder) = ("\(folder)/manifest", folder)
    } catch {
      throw Failure(70, "--manifest \(named): \(error)")
    }
    do {
      try Data(content).write(to: URL(fileURLWithPath: path))
    } catch {
      remove()
      throw Failure(70, "--manifest \(named): what it holds can't be kept in \(path): \(error.localizedDescription)")
    }
  }

  func remove() { if let folder { Files.removeTree(folder) } }

  deinit { remove() }

  private static func isPipe(_ path: String) throws -> Bool {
    var status = stat()
    // What isn't there is for the host to say.
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  private static func place(of path: String, among folders: [String]) -> String? {
    guard let real = try? Files.real(path) else { return nil }
    return folders.first { folder in (try? Files.real(folder)).map { real.lies(below: $0) } ?? false }
  }
}
