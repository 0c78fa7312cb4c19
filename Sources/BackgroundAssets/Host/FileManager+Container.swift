extension FileManager {
  /// The directory that an app and its extension share, or nil if this process isn't a member of the group.
  ///
  /// In an extension the host says where it is. Nil as well where there is no host to ask, that is in a process that isn't
  /// connected to the service.
  public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? {
    guard let path = Host.current?.containerPath(forGroup: groupIdentifier), !path.isEmpty else { return nil }
    return URL(fileURLWithPath: path, isDirectory: true)
  }
}
