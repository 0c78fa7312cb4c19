internal import Glibc
internal import LinuxSystem

/// Hands a file that is complete to the reader of standard output, with `--output -`.
enum FetchStandardOutput {
  /// The file stays where something goes wrong: the same command only has to hand it over then.
  static func send(_ path: String) throws(SystemCallError) {
    let file = try OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW)
    let files = SystemFiles()
    try withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 16) { buffer throws(SystemCallError) in
      var offset: Int64 = 0
      while true {
        let count = try files.read(buffer, from: file.number, at: offset)
        if count == 0 { break }
        if let code = Output.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: STDOUT_FILENO) {
          throw SystemCallError("write", code: code, subject: "standard output")
        }
        offset += Int64(count)
      }
    }
    unlink(path)
  }
}
