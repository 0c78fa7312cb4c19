internal import AssetModel
internal import Basics
internal import CArchive
internal import Glibc

/// What an archive's entries may be, one after the other, and how much they may be together.
struct EntryRules {
  struct Admitted {
    /// Relative, without `.` and `..`.
    var path: String
    var mode: mode_t
    var hardLink: String?
    var hasContent: Bool
  }

  let archive: String
  let limits: BundleLimits
  private var entries = 0
  private var bytes: Int64 = 0
  /// What came already, by its path: whether it is a file that a link may be made to.
  private var kinds: [ExactText: FileKind] = [:]

  init(archive: String, limits: BundleLimits) {
    self.archive = archive
    self.limits = limits
  }

  /// nil: the archive's own top.
  mutating func admit(_ entry: OpaquePointer) throws(BundleError) -> Admitted? {
    entries += 1
    guard entries <= limits.entries else {
      throw BundleError(.tooLarge, archive, "has more than \(limits.entries) entries")
    }
    guard archive_entry_is_encrypted(entry) == 0 else {
      throw BundleError(.damagedArchive, archive, "is encrypted", remedy: "pack it without a password")
    }
    let name = archive_entry_pathname(entry) ?? archive_entry_pathname_utf8(entry)
    guard let path = try cleaned(name, what: "an entry") else { return nil }
    let mode = UInt32(archive_entry_mode(entry))
    if let target = archive_entry_hardlink(entry) ?? archive_entry_hardlink_utf8(entry) {
      return try admitHardLink(path, to: target)
    }
    let kind = FileKind(mode: UInt32(archive_entry_filetype(entry)))
    guard kind == .file || kind == .folder || kind == .link else {
      throw refuse(path, "is \(kind.rawValue)")
    }
    if kind == .file, mode & 0o6000 != 0 { throw refuse(path, "has a setuid or setgid bit") }
    guard kinds[ExactText(path)] == nil || kind == .folder && kinds[ExactText(path)] == .folder else {
      throw refuse(path, "is there twice")
    }
    kinds[ExactText(path)] = kind
    if kind == .link { try checkLink(entry, path) }
    // What it says to have: no disk is filled to find that it is too much.
    if archive_entry_size_is_set(entry) != 0, kind == .file {
      let size = archive_entry_size(entry)
      guard size >= 0, size <= limits.totalBytes - bytes else { throw tooLarge }
    }
    return Admitted(
      path: path, mode: kind == .folder || mode & 0o111 != 0 ? 0o755 : 0o644, hasContent: kind == .file)
  }

  private mutating func admitHardLink(_ path: String, to name: UnsafePointer<CChar>) throws(BundleError) -> Admitted {
    guard let target = try cleaned(name, what: "a hard link to"), kinds[ExactText(target)] == .file else {
      throw refuse(
        path, "is a hard link to '\(Printable.text(String(cString: name)))', no file of the archive before it")
    }
    guard kinds[ExactText(path)] == nil else { throw refuse(path, "is there twice") }
    kinds[ExactText(path)] = .file
    return Admitted(path: path, mode: 0o755, hardLink: target, hasContent: false)
  }

  /// Where it leads is asked of the kernel when everything is there; these can't lead anywhere good.
  private func checkLink(_ entry: OpaquePointer, _ path: String) throws(BundleError) {
    guard let name = archive_entry_symlink(entry) ?? archive_entry_symlink_utf8(entry), name[0] != 0 else {
      throw refuse(path, "is a link to nothing")
    }
    let target = String(cString: name)
    if target.isAbsolutePath { throw refuse(path, "is a link out of the bundle, to \(Printable.text(target))") }
    if target.utf8.count > limits.pathLength {
      throw refuse(path, "is a link with a target of more than \(limits.pathLength) bytes")
    }
  }

  /// Content that was read: unpacked bytes since the last time, and the archive's bytes up to here.
  mutating func count(_ unpacked: Int64, packed: Int64) throws(BundleError) {
    guard unpacked <= limits.totalBytes - bytes else { throw tooLarge }
    bytes += unpacked
    guard bytes <= limits.freeBytes || bytes / limits.ratio <= packed else {
      throw BundleError(
        .tooLarge, archive, "unpacks to more than \(limits.ratio) times its size",
        remedy: "install the unpacked folder if this is meant")
    }
  }

  private var tooLarge: BundleError {
    BundleError(.tooLarge, archive, "unpacks to more than \(limits.totalBytes >> 20) MiB")
  }

  private func refuse(_ path: String, _ reason: String, what: String = "an entry") -> BundleError {
    BundleError(.unsafeContent, archive, "has \(what) \(Printable.text(path)) that \(reason)")
  }

  /// nil for the top itself.
  private func cleaned(_ name: UnsafePointer<CChar>?, what: String) throws(BundleError) -> String? {
    guard let name, name[0] != 0 else { throw refuse("without a name", "can't be unpacked", what: what) }
    let bytes = UnsafeBufferPointer(start: name, count: strlen(name)).map { UInt8(bitPattern: $0) }
    let shown = String(decoding: bytes.prefix(200), as: UTF8.self)
    guard bytes.count <= limits.pathLength else {
      throw BundleError(
        .tooLarge, archive, "has a path of more than \(limits.pathLength) bytes: \(Printable.text(shown, limit: 60))…")
    }
    guard let text = String(validating: bytes, as: UTF8.self), BundleNames.isPlain(text) else {
      throw refuse(shown, "has a name that isn't UTF-8 text, or has control characters", what: what)
    }
    if text.isAbsolutePath { throw refuse(text, "has an absolute path", what: what) }
    let parts = text.pathNames
    if parts.contains("..") { throw refuse(text, "has '..' in its path", what: what) }
    guard parts.count <= limits.depth else {
      throw BundleError(.tooLarge, archive, "has folders within each other deeper than \(limits.depth) levels")
    }
    if parts.contains(where: { $0.utf8.count > 255 }) {
      throw refuse(shown, "has a name of more than 255 bytes", what: what)
    }
    return parts.isEmpty ? nil : parts.joined(separator: "/")
  }
}
