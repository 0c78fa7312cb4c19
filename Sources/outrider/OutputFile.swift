internal import Foundation
internal import Glibc
internal import LinuxSystem

/// A file that the user named for a command's result.
enum OutputFile {
  /// Writes all of it. A regular file is there as before or as it is now, also behind a link; a device or a pipe is written to.
  ///
  /// - Parameter option: What named it, for the error.
  static func write(_ text: String, to path: String, option: String = "--output") throws {
    var status = stat()
    do throws(SystemCallError) {
      switch stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0 {
      case S_IFREG: try replace(try Files.real(path), text, mode: status.st_mode & 0o777)
      case 0 where Files.link(path) == nil: try replace(path, text, mode: nil)
      // A link that leads to nothing yet makes what it leads to.
      default: try fill(try OwnedDescriptor.open(path, O_WRONLY | O_CREAT, mode: 0o666), path, text)
      }
    } catch {
      throw Failure(73, "\(option) \(path): can't be written: \(reason(error, path))")
    }
  }

  /// Refuses what can't become a file, before the work whose result it is to have.
  static func check(_ path: String, option: String = "--output") throws {
    if path.isEmpty { throw Failure(64, "\(option) names no file; leave it out for standard output") }
    if Files.isFolder(path) == true { throw Failure(73, "\(option) \(path): is a folder; name a file in it") }
    let folder = folder(of: path)
    if Files.isFolder(folder) != true {
      throw Failure(73, "\(option) \(path): there is no folder \(folder); make it first")
    }
  }

  private static func folder(of path: String) -> String {
    URL(fileURLWithPath: path).deletingLastPathComponent().path
  }

  /// In one step, so that no reader finds half of it. `mode`: of the file that is there.
  private static func replace(_ path: String, _ text: String, mode: mode_t?) throws(SystemCallError) {
    let new = "\(path).\(getpid()).new"
    let file = try OwnedDescriptor.open(new, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
    do {
      if let mode { fchmod(file.number, mode) }
      try fill(file, path, text)
      try LinuxSystem.check("rename", path) { rename(new, path) == 0 ? 0 : errno }
    } catch {
      unlink(new)
      throw error
    }
  }

  private static func fill(
    _ file: consuming OwnedDescriptor, _ path: String, _ text: String
  ) throws(SystemCallError) {
    var text = text
    let number = file.number
    let code = text.withUTF8 { Output.write(UnsafeRawBufferPointer($0), to: number) }
    if let code { throw SystemCallError("write", code: code, subject: path) }
  }

  private static func reason(_ error: SystemCallError, _ path: String) -> String {
    let folder = folder(of: path)
    return error.code == ENOENT && Files.isFolder(folder) == nil
      ? "there is no folder \(folder); make it first" : SystemCallError.message(error.code)
  }
}
