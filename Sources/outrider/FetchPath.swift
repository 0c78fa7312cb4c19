internal import Foundation
internal import LinuxSystem

/// Folders as a command names them. Foundation's own way would read a tilde as the home directory, which a shell has done
/// already where it was meant so.
enum FetchPath {
  /// Absolute, without `.` and doubled slashes. Where `..` leads is for the kernel to say: a link may stand before it.
  static func absolute(_ path: String, in current: String = FileManager.default.currentDirectoryPath) -> String {
    let slash = UInt8(ascii: "/")
    let whole = path.utf8.first == slash ? path : "\(current)/\(path)"
    let parts = whole.utf8.split(separator: slash).map { String(decoding: $0, as: UTF8.self) }.filter { $0 != "." }
    if parts.contains(".."), let real = try? Files.real(whole) { return real }
    return "/" + parts.joined(separator: "/")
  }
}
