internal import CLinux
internal import Glibc
internal import LinuxSystem

/// Copies a file's content, sharing its blocks where the filesystem can do that.
enum FileCopy {
  private static let part: Int64 = 64 << 20

  /// From both positions; ends early where the source does.
  static func copy(_ source: Int32, to target: Int32, count: Int64) throws(SystemCallError) {
    var left = count
    while left > 0 {
      var copied: Int64 = 0
      let wanted = min(left, part)
      do throws(SystemCallError) {
        try check("copy_file_range", "\(source)") { ol_copy_range(source, target, wanted, &copied) }
      } catch {
        // Not between these two filesystems, or not in this container.
        guard [EXDEV, EINVAL, EOPNOTSUPP, ENOSYS, EPERM].contains(error.code) else { throw error }
        return try copyBytes(source, to: target, count: left)
      }
      if copied == 0 { return try copyBytes(source, to: target, count: left) }
      left -= copied
    }
  }

  private static func copyBytes(_ source: Int32, to target: Int32, count: Int64) throws(SystemCallError) {
    var buffer = [UInt8](repeating: 0, count: Int(min(max(count, 1), 1 << 20)))
    var left = count
    while left > 0 {
      let wanted = Int(min(left, Int64(buffer.count)))
      let got = try checkErrno("read", "\(source)") { read(source, &buffer, wanted) }
      if got == 0 { return }
      var written = 0
      while written < got {
        written += try checkErrno("write", "\(target)") {
          buffer.withUnsafeBytes { write(target, $0.baseAddress?.advanced(by: written), got - written) }
        }
      }
      left -= Int64(got)
    }
  }
}
