internal import CArchive
internal import Glibc
internal import LinuxSystem

/// Unpacks a tar (with any usual compression) or zip archive that anyone may have made into a folder of the caller's own.
///
/// Each entry is held against the rules here, which name what is wrong; then libarchive writes it, with its own flags for secure
/// extraction, which see what is on the disk; and what came of it is verified as any folder is (`TreePass`).
struct ArchiveUnpacker {
  let archive: String
  /// Absolute, without links: its names are put before those of the entries.
  let folder: String
  let limits: BundleLimits

  init(_ archive: String, into folder: String, limits: BundleLimits) {
    self.archive = archive
    self.folder = folder
    self.limits = limits
  }

  func run() throws(BundleError) {
    let file = try BundleError.translating(archive) { () throws(SystemCallError) in
      let file = try OwnedDescriptor.open(archive, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      guard try file.identity().isRegularFile else { throw SystemCallError("open", code: EINVAL, subject: archive) }
      return file
    }
    // Names are bytes that the thread's locale gives a meaning: in that of the service they may have none.
    let locale = newlocale(1 << LC_CTYPE, "C.UTF-8", nil)
    let former = locale.map { uselocale($0) }
    defer {
      if let former { uselocale(former) }
      if let locale { freelocale(locale) }
    }
    if let missing = outrider_archive_load() {
      throw BundleError(
        .systemRefused, archive, "can't be unpacked: libarchive can't be loaded (\(String(cString: missing)))",
        remedy: "install it: apt install libarchive13")
    }
    guard let reader = archive_read_new() else { throw outOfMemory }
    defer { archive_read_free(reader) }
    guard let writer = archive_write_disk_new() else { throw outOfMemory }
    defer { archive_write_free(writer) }
    Self.prepare(reader)
    // Absolute names aren't forbidden here but by `EntryRules`: these ones begin with the folder. Owners, times, ACLs,
    // attributes and flags of the archive are left behind.
    archive_write_disk_set_options(
      writer,
      ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_PERM
        | ARCHIVE_EXTRACT_NO_OVERWRITE)
    try checkChecksums(file)
    guard archive_read_open_fd(reader, file.number, 1 << 16) == ARCHIVE_OK else {
      // Of what is compressed its kind is known before its content is found to be wrong.
      guard archive_errno(reader) == EILSEQ else { throw damaged(reader) }
      throw BundleError(
        .notABundle, archive, "is neither a tar nor a zip archive (\(message(reader)))",
        remedy: "pack the app with: tar -czf Name.tar.gz Name.app")
    }
    try unpack(reader, writer)
  }

  /// Those of gzip; libarchive looks at those of all other kinds itself.
  private func checkChecksums(_ file: borrowing OwnedDescriptor) throws(BundleError) {
    let bounds = outrider_gzip_limits(
      total: UInt64(clamping: limits.totalBytes), free: UInt64(clamping: limits.freeBytes),
      ratio: UInt64(clamping: limits.ratio))
    if let reason = outrider_gzip_error(file.number, bounds) { throw damaged(because: String(cString: reason)) }
  }

  private var outOfMemory: BundleError { BundleError(.systemRefused, archive, "can't be unpacked: no memory is left") }

  /// Not `archive_read_support_filter_all`, which starts programs for some kinds of compression.
  private static func prepare(_ reader: OpaquePointer) {
    archive_read_support_format_tar(reader)
    archive_read_support_format_zip(reader)
    for filter in [
      archive_read_support_filter_gzip, archive_read_support_filter_bzip2, archive_read_support_filter_compress,
      archive_read_support_filter_xz, archive_read_support_filter_lzma, archive_read_support_filter_lz4,
      archive_read_support_filter_zstd,
    ] { _ = filter(reader) }
    // lzip is read by liblzma; where that lacks it, libarchive says so by its warning, and no program is started.
    _ = archive_read_support_filter_lzip(reader)
  }

  private func message(_ object: OpaquePointer) -> String {
    archive_error_string(object).map { String(cString: $0) } ?? "no reason given"
  }

  private func unpack(_ reader: OpaquePointer, _ writer: OpaquePointer) throws(BundleError) {
    var rules = EntryRules(archive: archive, limits: limits)
    while true {
      var next: OpaquePointer?
      switch archive_read_next_header(reader, &next) {
      case ARCHIVE_EOF: return
      // A warning: a name that isn't of this locale, or the like.
      case ARCHIVE_OK, ARCHIVE_WARN: break
      default: throw damaged(reader)
      }
      guard let entry = next else { throw damaged(reader) }
      guard let admitted = try rules.admit(entry) else { continue }
      archive_entry_set_pathname(entry, "\(folder)/\(admitted.path)")
      if let target = admitted.hardLink { archive_entry_set_hardlink(entry, "\(folder)/\(target)") }
      archive_entry_set_perm(entry, admitted.mode)
      try checkWriting(archive_write_header(writer, entry), writer, admitted.path)
      if admitted.hasContent { try copyContent(reader, writer, admitted.path, &rules) }
      try checkWriting(archive_write_finish_entry(writer), writer, admitted.path)
    }
  }

  private func copyContent(
    _ reader: OpaquePointer, _ writer: OpaquePointer, _ path: String, _ rules: inout EntryRules
  ) throws(BundleError) {
    var end: Int64 = 0
    while true {
      var block: UnsafeRawPointer?
      var count = 0
      var offset: Int64 = 0
      switch archive_read_data_block(reader, &block, &count, &offset) {
      case ARCHIVE_EOF: return
      case ARCHIVE_OK: break
      // A warning: a checksum or a length that isn't right.
      default: throw damaged(reader)
      }
      // A hole counts as what it is read as.
      guard offset >= end, Int64(count) <= .max - offset else { throw damaged(reader) }
      try rules.count(offset + Int64(count) - end, packed: archive_filter_bytes(reader, -1))
      end = offset + Int64(count)
      if count > 0 {
        let result = archive_write_data_block(writer, block, count, offset)
        try checkWriting(result < 0 ? Int32(result) : ARCHIVE_OK, writer, path)
      }
    }
  }

  private func damaged(_ reader: OpaquePointer) -> BundleError { damaged(because: message(reader)) }

  private func damaged(because reason: String) -> BundleError {
    BundleError(.damagedArchive, archive, "is damaged or cut (\(reason))", remedy: "pack or fetch it again")
  }

  private func checkWriting(_ result: Int32, _ writer: OpaquePointer, _ path: String) throws(BundleError) {
    guard result != ARCHIVE_OK else { return }
    let code = archive_errno(writer)
    if code == ENOSPC || code == EDQUOT {
      throw BundleError(SystemCallError("write", code: code, subject: path), subject: archive)
    }
    throw BundleError(.unsafeContent, archive, "has an entry \(path) that can't be unpacked (\(message(writer)))")
  }
}
