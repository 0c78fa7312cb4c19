internal import AssetModel
internal import AssetStore
internal import Basics
internal import Foundation
internal import Hashing
internal import LinuxSystem

/// The file that a finished download left, looked at when the same command comes again.
enum FetchedFile {
  enum Verdict {
    /// Under that name.
    case intact(name: String)
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
    _ record: JobRecord, for wanted: DownloadSpecification, name: String? = nil, modified: Int64?, finished: Int64?
  ) -> Verdict {
    let own = record.specification.fileName
    guard let name, !name.isExactly(own) else { return check(record, wanted, own, modified, finished) }
    let verdict = check(record, wanted, name, modified, finished)
    if case .intact = verdict { return verdict }
    // Where that name was taken, the file kept its own, and the other one says nothing of it.
    let ownVerdict = check(record, wanted, own, modified, finished)
    if case .another = ownVerdict { return verdict }
    return ownVerdict
  }

  private static func check(
    _ record: JobRecord, _ wanted: DownloadSpecification, _ name: String, _ modified: Int64?, _ finished: Int64?
  ) -> Verdict {
    let path = "\(record.specification.directory)/\(name)"
    guard let identity = try? Files.identity(of: path), identity.isRegularFile else { return .another }
    let (digest, chunks) = (wanted.digest ?? record.specification.digest, wanted.chunks ?? record.specification.chunks)
    guard digest != nil || chunks != nil else {
      guard isOf(record, identity) else { return .another }
      if let modified {
        if modified == identity.modified { return .intact(name: name) }
      } else if let finished, identity.changed <= finished {
        return .intact(name: name)
      }
      if let entity = record.partial?.entity, entity.coding == nil, let digest = entity.reprDigest,
        difference(path, digest, nil) == nil
      {
        return .intact(name: name)
      }
      return .damaged("was changed after it was fetched")
    }
    guard let difference = difference(path, digest, chunks) else { return .intact(name: name) }
    return .damaged("was fetched, but isn't what it has to be (any more): \(difference)")
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
  static func size(ofFileThatFits wanted: DownloadSpecification) -> Int64? {
    let path = "\(wanted.directory)/\(wanted.fileName)"
    guard wanted.digest != nil || wanted.chunks != nil, let identity = try? Files.identity(of: path),
      identity.isRegularFile, difference(path, wanted.digest, wanted.chunks) == nil
    else { return nil }
    return identity.size
  }

  /// What the file at `path` has otherwise than it has to; nil: nothing.
  private static func difference(_ path: String, _ digest: ContentDigest?, _ chunks: ChunkList?) -> String? {
    guard let file = FileHandle(forReadingAtPath: path) else { return "it can't be read" }
    var whole = digest.map { RunningHash($0.algorithm.function) }
    let size = Int(chunks?.chunkSize ?? 1 << 20)
    var (number, total) = (0, Int64(0))
    while true {
      let data: Data
      do {
        guard let read = try file.read(upToCount: size), !read.isEmpty else { break }
        data = read
      } catch { return "it can't be read" }
      data.withUnsafeBytes { whole?.update($0) }
      if let chunks {
        guard number < chunks.count else { return "it is longer than its chunk list" }
        guard RunningHash.digest(.sha256, of: data).elementsEqual(chunks.digest(of: number)) else {
          return "chunk \(number) is another"
        }
      }
      number += 1
      total += Int64(data.count)
    }
    if let chunks, total != chunks.totalSize { return "it has \(total) of \(chunks.totalSize) bytes" }
    guard let digest, let bytes = whole?.digest, bytes != digest.bytes,
      let found = ContentDigest(digest.algorithm, bytes: bytes)
    else { return nil }
    return "\(digest.algorithm.rawValue) is \(found.hex), expected was \(digest.hex)"
  }
}
