internal import AssetModel
internal import Glibc
internal import LinuxSystem

/// Why a directory can't be worked in, as a sentence for people.
enum DestinationProblem {
  static func text(_ error: SystemCallError, _ directory: String) -> String {
    let path = Printable.text(directory)
    switch error.code {
    case EACCES: return "\(path): this user may not write there"
    // Of filesystems that take no files, as /proc.
    case ENOENT where Files.isFolder(directory) == true:
      return "\(path): no files can be made there"
    case ENOENT: return "\(path): there is no such directory"
    case ENOTDIR: return "\(path), or its \(StagingFolder.common), isn't a directory"
    case EXDEV: return "\(path): another mount is on the way there, and none is crossed"
    case ELOOP where error.subject == directory:
      return "\(path): a link is on the way there, and none is followed"
    case ELOOP: return "\(path): its \(StagingFolder.common) is a link, and none is followed; remove it"
    default: return "\(path): \(error)"
    }
  }

  /// A file that got its name, but in a directory that isn't at its path any more.
  static func displaced(_ path: String, _ name: String) -> String {
    "\(Printable.text(path)) was moved or replaced while \(Printable.text(name)) was fetched; the file is complete, in the "
      + "directory that was there before"
  }
}
