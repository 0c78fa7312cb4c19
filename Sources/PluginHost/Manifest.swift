internal import LinuxSystem

/// A manifest is any regular file up to 64 MiB; its content is the extension's affair.
enum Manifest {
  static let largest: Int64 = 64 << 20

  static func open(_ path: String) throws(HostError) -> PluginImage.File {
    do throws(SystemCallError) {
      let real = try Files.real(path)
      let identity = try Files.identity(of: real)
      guard identity.isRegularFile else {
        throw SystemCallError("open", code: 0, subject: "\(path): not a regular file")
      }
      guard identity.size <= largest else {
        throw SystemCallError(
          "open", code: 0, subject: "\(path): \(identity.size) bytes; a manifest has at most 64 MiB")
      }
      return PluginImage.File(path: real, identity: identity)
    } catch {
      throw .input(error.code == 0 ? error.subject : "\(path): \(SystemCallError.message(error.code))")
    }
  }
}
