internal import Foundation
internal import Glibc
internal import LinuxSystem

/// A file that the user named for a command's result.
enum OutputFile {
  /// Writes all of it. A regular file is there as before or as it is now, also behind a link; a device or a pipe is written to.
  ///
  /// - Parameter option: What named it, for the error.
  static func write(_ text: String, to path: String, option: String = "--output") throws(Failure) {
    do throws(SystemCallError) {
      if let (place, mode) = try replaced(path) {
        try replace(place, text, mode: mode)
      } else {
        try fill(try OwnedDescriptor.open(path, O_WRONLY | O_CREAT, mode: 0o666), path, text)
      }
    } catch {
      throw failure(error, path, option)
    }
  }

  /// The file that another takes the place of, with its mode where it is there. nil: what `path` names is written to: a device,
  /// a pipe, or a link that leads to nothing yet and makes what it leads to.
  private static func replaced(_ path: String) throws(SystemCallError) -> (String, mode_t?)? {
    var status = stat()
    switch stat(path, &status) == 0 ? status.st_mode & S_IFMT : 0 {
    case S_IFREG: return (try Files.real(path), status.st_mode & 0o777)
    case 0 where Files.link(path) == nil: return (path, nil)
    default: return nil
    }
  }

  /// Refuses what can't become a file, before the work whose result it is to have.
  static func check(_ path: String, option: String = "--output") throws(Failure) {
    if path.isEmpty { throw Failure(64, "\(option) names no file; leave it out for standard output") }
    if Files.isFolder(path) == true { throw Failure(73, "\(option) \(path): is a folder; name a file in it") }
    let folder = folder(of: path)
    if Files.isFolder(folder) != true {
      throw Failure(73, "\(option) \(path): there is no folder \(folder); make it first")
    }
    do throws(SystemCallError) {
      // Only making one tells whether a folder takes a file: mounts and other walls have a say, too.
      if let (place, _) = try replaced(path) {
        let new = Self.new(place)
        _ = try OwnedDescriptor.open(new, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
        unlink(new)
      } else if Files.exists(path) {
        try LinuxSystem.check("access", path) { access(path, W_OK) == 0 ? 0 : errno }
      }
    } catch {
      throw failure(error, path, option)
    }
  }

  private static func failure(_ error: SystemCallError, _ path: String, _ option: String) -> Failure {
    Failure(73, "\(option) \(path): can't be written: \(reason(error, path))")
  }

  /// What becomes the file once it is whole.
  private static func new(_ path: String) -> String { "\(path).\(getpid()).new" }

  private static func folder(of path: String) -> String {
    URL(fileURLWithPath: path).deletingLastPathComponent().path
  }

  /// In one step, so that no reader finds half of it. `mode`: of the file that is there.
  private static func replace(_ path: String, _ text: String, mode: mode_t?) throws(SystemCallError) {
    let new = Self.new(path)
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
