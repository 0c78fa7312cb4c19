internal import Glibc
internal import LinuxSystem

/// The folder of a container in which an extension in Swift puts new versions of its items together
/// (`FileManager.url(for: .itemReplacementDirectory, …)`). The extension makes it when it needs it; it goes with the run.
/// What a host that was killed leaves, the next one sweeps with its staged files.
struct ReplacementFolder: Sendable {
  /// The environment variable that tells the extension its name.
  static let variable = "OUTRIDER_REPLACEMENTS"

  private let entry = StagedFile.folderName(host: 0)
  /// From the container's root.
  var name: String { "\(IncomingFolder.name)/\(entry)" }

  func isThere(in container: String) -> Bool {
    var status = stat()
    return lstat("\(container)/\(name)", &status) == 0
  }

  func remove(from container: String) {
    (try? IncomingFolder(in: container, creates: false))?.remove(entry)
  }
}
