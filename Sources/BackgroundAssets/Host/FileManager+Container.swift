extension FileManager {
  /// The directory that an app and its extension share, or nil if this process isn't a member of the group.
  ///
  /// In an extension the host says where it is, in an app the service, which is asked once: the first call may block until
  /// it has answered. Nil as well in a process that the service doesn't know as an app, or without a service.
  ///
  /// A target's files that import Foundation alone see it where another one imports BackgroundAssets, unless the target
  /// has `MemberImportVisibility`; docs/plugins.md says what to do then.
  ///
  /// - Parameter groupIdentifier: The group.
  /// - Returns: The folder.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    let known =
      if let host = Host.current { host.containerPath(forGroup: groupIdentifier) } else {
        ServiceLink.shared.container(of: groupIdentifier)
      }
    guard let path = known, !path.isEmpty else { return nil }
    return URL(fileURLWithPath: path, isDirectory: true)
  }
}
