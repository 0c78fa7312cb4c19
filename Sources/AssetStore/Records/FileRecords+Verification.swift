package import AssetModel
internal import GRDB
internal import Glibc
internal import Hashing
package import LinuxSystem

/// What a finished file turned out to be.
package enum FileVerdict: Sendable, Equatable {
  /// To the byte what was fetched.
  case sound
  /// It is the file that was published, of its size; no digest of it is known.
  case unproved
  /// Nothing is at its place, or the directory is gone.
  case missing
  /// Something else is at its place.
  case exchanged
  /// Damaged or changed: where that shows.
  case damaged(String)
  /// The disk doesn't give it back (errno).
  case unreadable(Int32)
}

extension FileRecords {
  /// Reads a finished file from its first byte to its last and compares it with the digest, or the chunks, that it had when
  /// it was published. Takes as long as the disk does and a buffer of memory; changes nothing.
  package func verify(file id: Int64, files: any FileOperations = SystemFiles()) throws(StoreError) -> FileVerdict {
    guard let known = try database.read({ try KnownFile.find(id, $0) }) else {
      throw .wrongState("file \(id) isn't there")
    }
    return known.verify(files)
  }

  /// A file of the app that is what a download asks for, to the digest: it needn't be fetched again. It was read for that.
  package func keptFile(
    for specification: DownloadSpecification, files: any FileOperations = SystemFiles()
  ) throws(StoreError) -> StoredFile? {
    guard specification.chunks != nil || specification.digest != nil else { return nil }
    let candidates: [Int64] = try database.read { database in
      let rows = try database.query(
        """
        SELECT files.id FROM files LEFT JOIN jobs ON jobs.id = files.job
        WHERE files.app = ?1 AND files.state = 0 AND (?2 IS NULL OR files.size = ?2)
          AND CASE WHEN ?3 IS NULL THEN files.digest = ?4 ELSE jobs.chunks = ?3 AND jobs.chunkSize = ?5 END ORDER BY files.id
        """
      ).bind(Array(specification.app.utf8)).bind(specification.exactSize).bind(specification.chunks?.digests)
        .bind(specification.digest?.bytes).bind(specification.chunks?.chunkSize)
      var all: [Int64] = []
      while try rows.step() { all.append(rows.int64()) }
      return all
    }
    for id in candidates where try verify(file: id, files: files) == .sound {
      return try database.read { try FileRow.all($0, "WHERE id = \(id) AND state = 0").first }
    }
    return nil
  }
}

/// A finished file with what is known of its bytes.
private struct KnownFile {
  enum Proof {
    case digest(ContentDigest)
    case chunks(ChunkList)
  }

  var directory: String
  var name: String
  var inode: UInt64
  var size: Int64
  var proof: Proof?

  static func find(_ id: Int64, _ database: Database) throws -> KnownFile? {
    let row = try database.query(
      "SELECT directory, name, inode, size, digest, job FROM files WHERE id = ? AND state = 0"
    ).bind(id)
    guard try row.step() else { return nil }
    var file = KnownFile(directory: row.text(), name: row.text(), inode: row.bits(), size: row.int64())
    let digest = row.optionalBlob()
    let job = row.optionalInt64()
    if let digest { file.proof = Self.digest(digest).map { .digest($0) } }
    guard let job, let record = try JobRow.find(JobID(job), database) else { return file }
    if let chunks = record.specification.chunks { file.proof = .chunks(chunks) }
    // What a server said of a coded body says nothing about a file that was decoded since.
    if file.proof == nil, let entity = record.partial?.entity, entity.coding == nil, let told = entity.reprDigest {
      file.proof = .digest(told)
    }
    return file
  }

  private static func digest(_ bytes: [UInt8]) -> ContentDigest? {
    ContentDigest.Algorithm.allCases.lazy.compactMap { ContentDigest($0, bytes: bytes) }.first
  }

  func verify(_ files: any FileOperations) -> FileVerdict {
    do throws(SystemCallError) {
      let folder = try OwnedDescriptor.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      let file = try files.open(name, in: folder.number, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, mode: 0)
      let found = try files.status(of: file.number)
      guard found.isRegularFile, found.inode == inode else { return .exchanged }
      guard found.size == size else { return .damaged("it has \(found.size) bytes instead of \(size)") }
      switch proof {
      case nil: return .unproved
      case .digest(let digest):
        return try compare(file.number, digest.algorithm, digest.bytes[...], 0..<size, files)
      case .chunks(let list):
        guard list.totalSize == size else { return .damaged("its chunks are \(list.totalSize) bytes in all") }
        for chunk in 0..<list.count {
          let verdict = try compare(file.number, .sha256, list.digest(of: chunk), list.range(of: chunk), files)
          if verdict != .sound { return verdict }
        }
        return .sound
      }
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR: return .missing
      case ELOOP, EXDEV, ENXIO, EISDIR: return .exchanged
      default: return .unreadable(error.code)
      }
    }
  }

  private func compare(
    _ number: Int32, _ algorithm: ContentDigest.Algorithm, _ expected: ArraySlice<UInt8>, _ range: Range<Int64>,
    _ files: any FileOperations
  ) throws(SystemCallError) -> FileVerdict {
    var hash = RunningHash(algorithm.function)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSize, alignment: 4096)
    defer { memory.deallocate() }
    var position = range.lowerBound
    while position < range.upperBound {
      let wanted = Int(min(Int64(memory.count), range.upperBound - position))
      let count = try files.read(
        UnsafeMutableRawBufferPointer(rebasing: memory[..<wanted]), from: number, at: position)
      guard count > 0 else { return .damaged("it ends at byte \(position)") }
      hash.update(UnsafeRawBufferPointer(rebasing: memory[..<count]))
      position += Int64(count)
    }
    if hash.digest.elementsEqual(expected) { return .sound }
    return .damaged("the digest of bytes \(range.lowerBound)..<\(range.upperBound) is wrong")
  }

  static let bufferSize = 256 << 10
}
