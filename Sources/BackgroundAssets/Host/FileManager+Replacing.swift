import Glibc

extension FileManager {
  /// Puts a new version of a file or folder in the place of the old one, which is never missing if it is a file.
  ///
  /// Foundation's own exchanges the two names and then removes the wrong one where the C library's `renameat2` isn't used, as
  /// on Linux. An overload would be ambiguous beside an import of Foundation, and unseen by files that import nothing else.
  /// So this defines Foundation's symbol once more: in the image that it is linked into, the linker binds every call of
  /// `replaceItemAt` to it, because Swift's symbols can't be preempted there. Other images keep Foundation's.
  ///
  /// - Parameters:
  ///   - backupItemName: A name beside the old version under which it lies meanwhile.
  ///   - options: Whether that one stays, and whether the new version keeps its own permissions instead of the old one's.
  /// - Returns: Where the new version lies: `originalItemURL`.
  /// - Throws: A `CocoaError`; then everything is as it was.
  @_silgen_name(
    "$s20FoundationEssentials11FileManagerC0A0E13replaceItemAt_04withfG006backupF4Name7optionsAA3URLVSgAJ_AJSSSgAC0F18ReplacementOptionsVtKF"
  )
  @usableFromInline
  func outriderReplaceItemAt(
    _ originalItemURL: URL, withItemAt newItemURL: URL, backupItemName: String?,
    options: FileManager.ItemReplacementOptions
  ) throws -> URL? {
    var (old, new) = (stat(), stat())
    guard lstat(newItemURL.path, &new) == 0 else { throw Self.failure(.fileNoSuchFile, at: newItemURL) }
    guard lstat(originalItemURL.path, &old) == 0 else {
      try put(newItemURL, at: originalItemURL)
      return originalItemURL
    }
    if !options.contains(.usingNewMetadataOnly), !old.is(S_IFLNK), !new.is(S_IFLNK) {
      chmod(newItemURL.path, old.st_mode & 0o7777)
    }
    if backupItemName == nil, !old.is(S_IFDIR), !new.is(S_IFDIR) {
      try put(newItemURL, at: originalItemURL)
      return originalItemURL
    }
    let directory = originalItemURL.deletingLastPathComponent()
    let backup = directory.appendingPathComponent(backupItemName ?? Self.passingName)
    if fileExists(atPath: backup.path) { try removeItem(at: backup) }
    guard rename(originalItemURL.path, backup.path) == 0 else {
      throw Self.failure(.fileWriteUnknown, at: originalItemURL)
    }
    do {
      try put(newItemURL, at: originalItemURL)
    } catch {
      rename(backup.path, originalItemURL.path)
      throw error
    }
    if !options.contains(.withoutDeletingBackupItem) { try removeItem(at: backup) }
    return originalItemURL
  }

  /// Moves over whatever file is there; by way of a copy beside it where the two are on different filesystems.
  private func put(_ source: URL, at target: URL) throws {
    if rename(source.path, target.path) == 0 { return }
    guard errno == EXDEV else { throw Self.failure(.fileWriteUnknown, at: target) }
    let beside = target.deletingLastPathComponent().appendingPathComponent(Self.passingName)
    do {
      try copyItem(at: source, to: beside)
      guard rename(beside.path, target.path) == 0 else { throw Self.failure(.fileWriteUnknown, at: target) }
    } catch {
      try? removeItem(at: beside)
      throw error
    }
    try? removeItem(at: source)
  }

  private static var passingName: String { ".\(UUID().uuidString)" }

  static func failure(_ cocoa: CocoaError.Code, at url: URL) -> CocoaError {
    let code = errno
    let reason = POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    return CocoaError(
      cocoa,
      userInfo: [
        NSFilePathErrorKey: url.path, NSUnderlyingErrorKey: reason,
        NSLocalizedFailureReasonErrorKey: "\(url.path): \(String(cString: strerror(code)))",
      ])
  }
}

extension stat {
  fileprivate func `is`(_ kind: mode_t) -> Bool { st_mode & S_IFMT == kind }
}
