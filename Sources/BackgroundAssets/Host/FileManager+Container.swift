extension FileManager {
  /// The directory that an app and its extension share, or nil if this process isn't a member of the group.
  ///
  /// In an extension the host says where it is. Nil as well where there is no host to ask, that is in a process that isn't
  /// connected to the service.
  ///
  /// A target's files that import Foundation alone see it where another one imports BackgroundAssets, unless the target
  /// has `MemberImportVisibility`; README says what to do then.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    guard let path = Host.current?.containerPath(forGroup: groupIdentifier), !path.isEmpty else { return nil }
    return URL(fileURLWithPath: path, isDirectory: true)
  }
}
