internal import Glibc
internal import LinuxSystem

/// Hands a file that is complete to the reader of standard output, with `--output -`.
enum FetchStandardOutput {
  /// The file stays where something goes wrong: the same command only has to hand it over then.
  static func send(_ path: String) -> SystemCallError? {
    do throws(SystemCallError) {
      try copy(path)
      unlink(path)
      return nil
    } catch {
      return error
    }
  }

  private static func copy(_ path: String) throws(SystemCallError) {
    let file = try OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW)
    let files = SystemFiles()
    // Not on the stack, which `ulimit -s` may have made small.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try files.read(buffer, from: file.number, at: offset)
      if count == 0 { return }
      if let code = Output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: STDOUT_FILENO) {
        throw SystemCallError("write", code: code, subject: "standard output")
      }
      offset += Int64(count)
    }
  }
}
