import AssetModel
import Foundation
import Hashing
import LinuxSystem
import Synchronization
import Testing

@testable import AssetStore

/// A store with one finished file, and what is known of its bytes.
struct FinishedFile {
  static let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ ($0 >> 8)) })

  enum Proof: String, CaseIterable, Sendable { case sha256, sha512, chunks, told, none }

  let folder: AssetStoreTests.Folder
  var store: AssetStore
  let job: JobID
  let file: Int64
  let specification: DownloadSpecification
  var path: String { "\(folder.path)/files/file" }

  init(_ proof: Proof = .sha256, app: String = "app") throws {
    folder = try AssetStoreTests.Folder()
    store = try AssetStore(opening: folder.path)
    mkdir("\(folder.path)/files", 0o700)
    specification = Self.specification(proof, app: app, in: "\(folder.path)/files")
    job = try Self.finish(specification, proof, in: store)
    file = try #require(try store.files.file(of: job)).id
  }

  static func specification(
    _ proof: Proof, app: String = "app", name: String = "file", in directory: String
  ) -> DownloadSpecification {
    var specification = DownloadSpecification(
      app: app, identifier: name, url: "https://a.example/\(name)", transferClass: .background, directory: directory,
      fileName: name)
    switch proof {
    case .sha256: specification.digest = ContentDigest(.sha256, bytes: RunningHash.digest(.sha256, of: bytes))
    case .sha512: specification.digest = ContentDigest(.sha512, bytes: RunningHash.digest(.sha512, of: bytes))
    case .chunks:
      let digests = stride(from: 0, to: bytes.count, by: 65_536).flatMap {
        RunningHash.digest(.sha256, of: bytes[$0..<min($0 + 65_536, bytes.count)])
      }
      specification.chunks = ChunkList(chunkSize: 65_536, totalSize: Int64(bytes.count), digests: digests)
    case .told, .none: break
    }
    return specification
  }

  /// As an engine would: the file is there, and the journal says so.
  @discardableResult
  static func finish(_ specification: DownloadSpecification, _ proof: Proof, in store: AssetStore) throws -> JobID {
    let path = "\(specification.directory)/\(specification.fileName)"
    try bytes.write(to: URL(fileURLWithPath: path))
    let id = try #require(try store.add([specification], now: AssetStoreTests.moment())[0].job)
    var job = try #require(try store.job(id))
    job.state = .finished
    job.publishedInode = try Files.identity(of: path).inode
    job.finalSize = Int64(bytes.count)
    if proof == .told {
      job.partial = Partial(
        stagingName: "x",
        entity: Entity(finalURL: "", reprDigest: ContentDigest(.sha256, bytes: RunningHash.digest(.sha256, of: bytes))),
        bootIdentifier: "", device: 0, inode: 0)
    }
    try store.commit([.job(job)])
    return id
  }

  /// Changes one byte in place: the inode, the size and the name stay.
  func rot(at offset: UInt64) throws {
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.seek(toOffset: offset)
    try handle.write(contentsOf: Data([Self.bytes[Int(offset)] ^ 1]))
    try handle.close()
  }
}

/// The system's files, with a look at how they are read.
final class ReadingFiles: FileOperations {
  private let system = SystemFiles()
  let largest = Mutex(0)
  let opened = Mutex(0)

  func open(_ name: String, in directory: Int32, _ flags: Int32, mode: UInt32) throws(SystemCallError)
    -> OwnedDescriptor
  {
    opened.withLock { $0 += 1 }
    return try system.open(name, in: directory, flags, mode: mode)
  }
  func read(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64) throws(SystemCallError) -> Int
  {
    largest.withLock { $0 = max($0, buffer.count) }
    return try system.read(buffer, from: file, at: offset)
  }
  func status(of file: Int32) throws(SystemCallError) -> FileIdentity { try system.status(of: file) }
  func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError) { throw Self.refusal }
  func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemCallError) -> Int {
    throw Self.refusal
  }
  func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError) { throw Self.refusal }
  func truncate(_ file: Int32, to size: Int64) throws(SystemCallError) { throw Self.refusal }
  func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) { throw Self.refusal }
  func startWriteback(_ file: Int32, from offset: Int64, count: Int64) {}
  func synchronizeData(_ file: Int32) throws(SystemCallError) { throw Self.refusal }
  func synchronize(_ file: Int32) throws(SystemCallError) { throw Self.refusal }
  func synchronizeVolume(of file: Int32) throws(SystemCallError) { throw Self.refusal }
  func rename(_ name: String, in directory: Int32, to newName: String, in newDirectory: Int32) throws(SystemCallError) {
    throw Self.refusal
  }
  func remove(_ name: String, in directory: Int32) throws(SystemCallError) { throw Self.refusal }
  func space(of file: Int32) throws(SystemCallError) -> VolumeSpace { throw Self.refusal }

  private static var refusal: SystemCallError { SystemCallError("refused", code: EPERM, subject: "reading only") }
}
