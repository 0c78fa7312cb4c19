internal import AssetModel
internal import AssetStore
internal import Basics
internal import LinuxSystem

/// The file that a finished download left, looked at when the same command comes again.
enum FetchedFile {
  enum Verdict {
    case intact(FileVersion)
    /// It is what that download left, and other bytes are wanted now.
    case outdated(FileVersion, String)
    /// None of that download's is at its place.
    case another
    /// It has that download's name, but not the bytes that it has to have, or that isn't known.
    case damaged(String)
  }

  /// What this command or, where that says nothing, the earlier one said of the bytes counts. Without any such word the
  /// inode, the size and the time of the last change have to be as they were (`modified`). Where that wasn't recorded,
  /// because the command was killed, nothing of the inode may have changed after the journal called it finished.
  ///
  /// `name`: the one that its server gave it, where it has another one than its download.
  static func check(
    _ record: JobRecord, for wanted: DownloadSpecification, by bytes: FetchedBytes, name: String? = nil,
    modified: Int64?, finished: Int64?
  ) -> Verdict {
    let own = record.specification.fileName
    guard let name, !name.isExactly(own) else { return check(record, wanted, bytes, own, modified, finished) }
    let verdict = check(record, wanted, bytes, name, modified, finished)
    switch verdict {
    case .intact, .outdated: return verdict
    case .another, .damaged: break
    }
    // Where that name was taken, the file kept its own, and the other one says nothing of it.
    let ownVerdict = check(record, wanted, bytes, own, modified, finished)
    if case .another = ownVerdict { return verdict }
    return ownVerdict
  }

  private static func check(
    _ record: JobRecord, _ wanted: DownloadSpecification, _ bytes: FetchedBytes, _ name: String, _ modified: Int64?,
    _ finished: Int64?
  ) -> Verdict {
    let path = "\(record.specification.directory)/\(name)"
    guard let identity = try? Files.identity(of: path), identity.isRegularFile else { return .another }
    let version = FileVersion(identity, name: name.isExactly(record.specification.fileName) ? nil : name)
    let isUntouched =
      isOf(record, identity)
      && (modified.map { $0 == identity.modified } ?? finished.map { identity.changed <= $0 } ?? false)
    let (digest, chunks) = (wanted.digest ?? record.specification.digest, wanted.chunks ?? record.specification.chunks)
    guard digest != nil || chunks != nil else {
      guard isOf(record, identity) else { return .another }
      if isUntouched { return .intact(version) }
      if let entity = record.partial?.entity, entity.coding == nil, let digest = entity.reprDigest,
        bytes.difference(path, digest, nil) == nil
      {
        return .intact(version)
      }
      return .damaged("was changed after it was fetched")
    }
    guard let difference = bytes.difference(path, digest, chunks) else { return .intact(version) }
    let why = "was fetched, but isn't what it has to be (any more): \(difference)"
    return isUntouched ? .outdated(version, why) : .damaged(why)
  }

  /// Whether the very file that the journal speaks of has its name already, or that other one.
  static func isNamed(_ record: JobRecord, _ other: String?) -> Bool {
    [record.specification.fileName, other].compactMap(\.self).contains { name in
      (try? Files.identity(of: "\(record.specification.directory)/\(name)")).map { isOf(record, $0) } ?? false
    }
  }

  private static func isOf(_ record: JobRecord, _ identity: FileIdentity) -> Bool {
    identity.inode == record.publishedInode && identity.size == record.finalSize
  }

  /// Bytes of the file at its place, if that has the digest and the chunks that are wanted; nil also where none are.
  static func size(ofFileThatFits wanted: DownloadSpecification, by bytes: FetchedBytes) -> Int64? {
    let path = "\(wanted.directory)/\(wanted.fileName)"
    guard wanted.digest != nil || wanted.chunks != nil, let identity = try? Files.identity(of: path),
      identity.isRegularFile, bytes.difference(path, wanted.digest, wanted.chunks) == nil
    else { return nil }
    return identity.size
  }
}
