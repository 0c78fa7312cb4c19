extension FileManager {
  /// Locates a directory; `.itemReplacementDirectory` is a new one on the volume of `item`.
  ///
  /// Foundation's own ends the process where that one is asked for without an item, and otherwise makes it where an
  /// extension's container keeps it for ever. It is replaced as `replaceItemAt` is.
  ///
  /// - Parameters:
  ///   - item: What is to be replaced; nil means an item in the extension's container.
  ///   - create: Whether the directory is made, too. A replacement directory always is.
  /// - Throws: A `CocoaError`.
  @_silgen_name(
    "$s20FoundationEssentials11FileManagerC0A0E3url3for2in14appropriateFor6createAA3URLVAC19SearchPathDirectoryO_AC0lM10DomainMaskVAKSgSbtKF"
  )
  @usableFromInline
  func outriderURL(
    for directory: FileManager.SearchPathDirectory, in domain: FileManager.SearchPathDomainMask,
    appropriateFor item: URL?, create: Bool
  ) throws -> URL {
    if directory == .itemReplacementDirectory { return try ReplacementDirectory.make(for: item) }
    guard let url = urls(for: directory, in: domain).first else {
      throw CocoaError(
        .fileReadUnknown, userInfo: [NSLocalizedFailureReasonErrorKey: "There is no such directory on Linux."])
    }
    if create {
      try createDirectory(
        at: url, withIntermediateDirectories: true,
        attributes: domain == .userDomainMask ? [.posixPermissions: 0o700] : nil)
    }
    return url
  }
}
