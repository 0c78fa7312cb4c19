internal import LinuxSystem
public import Sandbox

/// A file that is to be handed over as a finished download, opened before any plugin runs: whatever happens to its name, it
/// is this one.
public final class FinishedFile: Sendable {
  let descriptor: OwnedDescriptor
  let subject: String

  /// Throws `HostError.input` where it isn't a regular file that can be read, and `.usage` where the path leads through a
  /// symbolic link in a folder that plugins may write to: `container`, those that `policy` grants, and those of earlier runs.
  ///
  /// - Parameters:
  ///   - path: The file; relative to the working directory, if it isn't absolute.
  ///   - policy: What else the plugin may write to.
  ///   - container: The folder that the plugin may write to, where it has one.
  /// - Throws: `HostError.input` where it is missing or no plain file, `.usage` for a path that isn't followed.
  public convenience init(
    opening path: String, policy: Policy = Policy(), container: String? = nil
  ) throws(HostError) {
    try self.init(path, writable: RunPath.writable(under: policy, container: container))
  }

  init(_ path: String, writable: [FileIdentity]) throws(HostError) {
    let named = try RunPath(opening: path, writable: writable)
    try named.checkRegular()
    descriptor = try named.reading()
    subject = path
  }
}
