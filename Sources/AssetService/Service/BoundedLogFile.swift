internal import Glibc
internal import Synchronization

/// Standard error as a file that doesn't grow without bound: at its limit it is renamed to `PATH.1`, in place of the one
/// before, and begun again.
final class BoundedLogFile: Sendable {
  private let path: String
  private let limit: Int64
  private let descriptor: Int32
  private let size: Mutex<Int64>

  /// - Parameters:
  ///   - path: what `descriptor` was opened by; where it is another file, nothing is ever renamed.
  ///   - limit: bytes, at least of one line.
  init(path: String, limit: Int64 = 16 << 20, descriptor: Int32 = STDERR_FILENO) {
    self.path = path
    self.limit = limit
    self.descriptor = descriptor
    var status = stat()
    size = Mutex(fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0)
  }

  /// One write(2), so that lines of several threads don't mix.
  func write(_ line: String) {
    var line = line
    line.withUTF8 { bytes in
      size.withLock { size in
        if size > 0, size + Int64(bytes.count) > limit {
          putAside()
          size = 0
        }
        size += Int64(max(0, Glibc.write(descriptor, bytes.baseAddress, bytes.count)))
      }
    }
  }

  private func putAside() {
    var (named, opened) = (stat(), stat())
    guard stat(path, &named) == 0, fstat(descriptor, &opened) == 0, named.st_ino == opened.st_ino,
      named.st_dev == opened.st_dev, rename(path, path + ".1") == 0
    else { return }
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    // Without another one it goes on with the one it has.
    guard file >= 0 else { return }
    // What isn't logged but printed, such as a crash, goes to the same place.
    if isFile(STDOUT_FILENO, opened) { dup2(file, STDOUT_FILENO) }
    dup2(file, descriptor)
    close(file)
  }

  private func isFile(_ number: Int32, _ opened: stat) -> Bool {
    var status = stat()
    return fstat(number, &status) == 0 && status.st_ino == opened.st_ino && status.st_dev == opened.st_dev
  }
}
