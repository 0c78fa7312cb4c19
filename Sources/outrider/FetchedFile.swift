internal import AssetModel
internal import Crypto
internal import Foundation
internal import LinuxSystem

/// The file that a finished download left, looked at when the same command comes again.
enum FetchedFile {
  enum Verdict {
    case intact
    /// None of that download's is at its place.
    case another
    /// It has that download's name, but not the bytes that somebody said it has to have.
    case damaged
  }

  /// What this command or, where that says nothing, the earlier one said of the bytes counts. Without any such word the
  /// inode and the size have to do: the journal knows no more.
  static func judge(_ record: JobRecord, for wanted: DownloadSpecification) -> Verdict {
    let path = "\(record.specification.directory)/\(record.specification.fileName)"
    guard let identity = try? Files.identity(of: path), identity.isRegularFile else { return .another }
    let (digest, chunks) = (wanted.digest ?? record.specification.digest, wanted.chunks ?? record.specification.chunks)
    guard digest != nil || chunks != nil else {
      return isOf(record, identity) ? .intact : .another
    }
    return holds(path, digest, chunks) ? .intact : .damaged
  }

  /// Whether it is the very file that the journal speaks of.
  static func isOf(_ record: JobRecord) -> Bool {
    let path = "\(record.specification.directory)/\(record.specification.fileName)"
    return (try? Files.identity(of: path)).map { isOf(record, $0) } ?? false
  }

  private static func isOf(_ record: JobRecord, _ identity: FileIdentity) -> Bool {
    identity.inode == record.publishedInode && identity.size == record.finalSize
  }

  private static func holds(_ path: String, _ digest: ContentDigest?, _ chunks: ChunkList?) -> Bool {
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    var (sha256, sha512) = (SHA256(), SHA512())
    let size = Int(chunks?.chunkSize ?? 1 << 20)
    var (number, total) = (0, Int64(0))
    while true {
      let data: Data
      do {
        guard let read = try file.read(upToCount: size), !read.isEmpty else { break }
        data = read
      } catch { return false }
      switch digest?.algorithm {
      case .sha256: sha256.update(data: data)
      case .sha512: sha512.update(data: data)
      case nil: break
      }
      if let chunks {
        guard number < chunks.count, SHA256.hash(data: data).elementsEqual(chunks.digest(of: number)) else {
          return false
        }
      }
      number += 1
      total += Int64(data.count)
    }
    if let chunks, total != chunks.totalSize { return false }
    switch digest?.algorithm {
    case .sha256: return sha256.finalize().elementsEqual(digest?.bytes ?? [])
    case .sha512: return sha512.finalize().elementsEqual(digest?.bytes ?? [])
    case nil: return true
    }
  }
}
