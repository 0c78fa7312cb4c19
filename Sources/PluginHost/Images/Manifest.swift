internal import LinuxSystem

/// A manifest is any regular file up to 64 MiB; its content is the extension's affair.
enum Manifest {
  static let largest: Int64 = 64 << 20

  /// `writable`: folders that plugins of this run may write to.
  static func open(_ path: String, writable: [FileIdentity]) throws(HostError) -> PluginImage.File {
    let named = try RunPath(opening: path, writable: writable)
    try named.checkRegular()
    guard named.identity.size <= largest else {
      throw .input("\(path): \(named.identity.size) bytes; a manifest has at most 64 MiB")
    }
    return PluginImage.File(path: named.path, identity: named.identity)
  }
}
