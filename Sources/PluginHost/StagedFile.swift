internal import Glibc
internal import LinuxSystem

/// A finished download in a folder of its own inside the container, so that moving it stays on one filesystem.
struct StagedFile {
  let relativePath: String
  private let directory: String

  init(copying source: String, into container: String) throws(HostError) {
    do throws(SystemCallError) {
      let input = try OwnedDescriptor.open(source, O_RDONLY)
      guard try input.identity().isRegularFile else { throw SystemCallError("open", code: EINVAL, subject: "\(source) (not a regular file)") }
      directory = try Files.temporaryDirectory(in: container, prefix: ".incoming-")
      relativePath = String(directory.dropFirst(container.count)) + "/file"
      let owner = try Files.identity(of: container)
      do throws(SystemCallError) {
        let output = try OwnedDescriptor.open(container + relativePath, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        var left = try input.identity().size
        while left > 0 {
          let count = try checkErrno("copy_file_range", source) {
            sendfile(output.number, input.number, nil, Int(min(left, 1 << 30)))
          }
          if count == 0 { break }
          left -= Int64(count)
        }
        if geteuid() == 0 {
          try checkErrno("fchown", container) { fchown(output.number, owner.owner, owner.group) }
          try checkErrno("chown", directory) { chown(directory, owner.owner, owner.group) }
        }
      } catch {
        Files.removeTree(directory)
        throw error
      }
    } catch {
      throw .input("\(source): \(SystemCallError.message(error.code))")
    }
  }

  func remove() { Files.removeTree(directory) }
}
