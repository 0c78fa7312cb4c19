internal import AssetModel
internal import Basics
internal import Foundation
internal import Hashing
internal import LinuxSystem
internal import Synchronization

/// Compares the bytes of files with what they have to be. What it has found of a file counts until that changes: it may be large, and
/// who asks again holds others up.
final class FetchedBytes: Sendable {
  private struct Finding {
    var identity: FileIdentity
    var digest: ContentDigest?
    var chunks: ChunkList?
    var difference: String?
  }
  private let findings = Mutex<[ExactText: Finding]>([:])
  private let isStopped: @Sendable () -> Bool

  /// `isStopped`: whether nobody wants to know any more. What is said of a file from then on means nothing.
  init(isStopped: @escaping @Sendable () -> Bool) { self.isStopped = isStopped }

  /// What the file at `path` has otherwise than it has to; nil: nothing.
  func difference(_ path: String, _ digest: ContentDigest?, _ chunks: ChunkList?) -> String? {
    let identity = try? Files.identity(of: path)
    if let found = findings.withLock({ $0[ExactText(path)] }), found.identity == identity, found.digest == digest,
      found.chunks == chunks
    {
      return found.difference
    }
    let difference = read(path, digest, chunks)
    if let identity, !isStopped() {
      findings.withLock {
        $0[ExactText(path)] = Finding(identity: identity, digest: digest, chunks: chunks, difference: difference)
      }
    }
    return difference
  }

  /// What the file at `path` has otherwise than it has to; nil: nothing.
  private func read(_ path: String, _ digest: ContentDigest?, _ chunks: ChunkList?) -> String? {
    guard let file = FileHandle(forReadingAtPath: path) else { return "it can't be read" }
    var whole = digest.map { RunningHash($0.algorithm.function) }
    let size = Int(chunks?.chunkSize ?? 1 << 20)
    var (number, total) = (0, Int64(0))
    while true {
      if isStopped() { return "the command was stopped" }
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
