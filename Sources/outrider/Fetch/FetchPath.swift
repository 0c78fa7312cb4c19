internal import Foundation
internal import LinuxSystem

/// Folders as a command names them. Foundation's own way would read a tilde as the home directory, which a shell has done
/// already where it was meant so.
enum FetchPath {
  /// Absolute, without `.` and doubled slashes. Where `..` leads is for the kernel to say: a link may stand before it.
  static func absolute(_ path: String, _ option: String) throws -> String {
    let slash = UInt8(ascii: "/")
    let whole = path.utf8.first == slash ? path : "\(try current(for: option))/\(path)"
    let parts = whole.utf8.split(separator: slash).map { String(decoding: $0, as: UTF8.self) }.filter { $0 != "." }
    if parts.contains(".."), let real = try? Files.real(whole) { return real }
    return "/" + parts.joined(separator: "/")
  }

  /// The working directory, from the kernel: for one that was removed Foundation answers with nothing, and everything
  /// would be found beneath the root.
  private static func current(for option: String) throws -> String {
    guard let text = getcwd(nil, 0) else {
      throw Failure(66, "\(option): the working directory is gone; go to another one, or name an absolute path")
    }
    defer { free(text) }
    // One that isn't beneath the root, as after chroot(2), begins otherwise.
    guard text.pointee == CChar(bitPattern: UInt8(ascii: "/")), let path = String(validatingCString: text) else {
      throw Failure(66, "\(option): the working directory has no usable name; name an absolute path")
    }
    return path
  }
}
