import AssetModel
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import Downloads

/// F-43: of two who know the name of a staging file, one has it; who wakes up late changes nothing that another published.
@Suite(.timeLimit(.minutes(1))) struct StagingLockTests {
  private static func buffer(_ byte: UInt8) throws -> TransferBuffer {
    let buffer = try #require(BufferPool().buffer(at: 0, expecting: nil))
    let bytes = [UInt8](repeating: byte, count: BufferPool.bufferSize)
    #expect(bytes.withUnsafeBytes { buffer.fill(from: $0) } == bytes.count)
    return buffer
  }

  private static func partial(_ identity: FileIdentity) -> Partial {
    Partial(
      stagingName: "staged", entity: Entity(finalURL: ""),
      checkpoints: [Partial.Checkpoint(offset: identity.size, tailDigest: [])], bootIdentifier: "boot",
      device: identity.device, inode: identity.inode)
  }

  /// A file that `first` has begun and ended, and `second` goes on with.
  private static func takenOver(
    in destination: Destination
  ) throws -> (first: StagingFile, second: StagingFile, identity: FileIdentity) {
    let first = StagingFile(destination: destination, name: "staged")
    try first.write(buffer(1))
    let identity = try first.identity()
    first.end()
    let second = StagingFile(destination: destination, name: "staged")
    try #require(try second.reopen(partial(identity), boot: "boot") != nil)
    return (first, second, identity)
  }

  private static func isStaged(_ identity: FileIdentity, in destination: borrowing Destination) throws -> Bool {
    let found = try Files.identity(of: "staged", in: destination.staging.number)
    return found.inode == identity.inode && found.device == identity.device
  }

  @Test("F-43 a staging file that another has is neither opened, emptied nor removed, and its holder is named")
  func refused() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-staging-")
    defer { Files.removeTree(folder) }
    let destination = try Destination(folder, app: "app", files: SystemFiles())
    let first = StagingFile(destination: destination, name: "staged")
    try first.write(Self.buffer(1))
    let identity = try first.identity()
    let second = StagingFile(destination: destination, name: "staged")
    let digest = ChunkList(chunkSize: 1 << 20, totalSize: 1 << 20, digests: [UInt8](repeating: 0, count: 32))
    let chunks = try #require(digest)
    for attempt in [
      { _ = try second.open() }, { _ = try second.reopen(Self.partial(identity), boot: "boot") },
      { _ = try second.salvage(chunks, others: []) },
    ] {
      let error = #expect(throws: SystemCallError.self) { try attempt() }
      #expect(
        error?.code == EWOULDBLOCK && error?.subject.contains("by process \(getpid()) (") == true, "\(error as Any)")
    }
    second.discard()
    destination.removeStaging("staged")
    #expect(try Self.isStaged(identity, in: destination) && identity.size == Int64(BufferPool.bufferSize))
    first.end()
    #expect(try second.reopen(Self.partial(identity), boot: "boot")?.certain == Int64(BufferPool.bufferSize))
  }

  @Test("F-43 a writer that wakes up late, when another has published the file, changes nothing") func late() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-staging-")
    defer { Files.removeTree(folder) }
    let destination = try Destination(folder, app: "app", files: SystemFiles())
    let (first, second, _) = try Self.takenOver(in: destination)
    try second.whileLocked { () throws(SystemCallError) in
      try destination.files.rename(
        "staged", in: destination.staging.number, to: "file", in: destination.target.number)
    }
    second.end()
    #expect(throws: SystemCallError.self) { try first.write(Self.buffer(2)) }
    #expect(throws: SystemCallError.self) { try first.cutOpened(to: 0) }
    let there = try #require(FileManager.default.contents(atPath: "\(folder)/file"))
    #expect(there.count == BufferPool.bufferSize && there.allSatisfy { $0 == 1 })
    #expect(try Files.names(in: folder).filter { $0 != StagingFolder.common } == ["file"])
  }

  @Test("F-43 who locks a file after its name was given to another leaves that one alone") func replaced() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-staging-")
    defer { Files.removeTree(folder) }
    let path = "\(folder)/staged"
    let directory = try OwnedDescriptor.open(folder, O_RDONLY | O_DIRECTORY)
    let first = try OwnedDescriptor.open(path, O_RDWR | O_CREAT)
    try FileLock.take(first.number, name: "staged", in: directory.number)
    FileLock.giveBack(first.number)
    #expect(rename(path, "\(folder)/published") == 0)
    let other = try OwnedDescriptor.open(path, O_RDWR | O_CREAT)
    let error = #expect(throws: SystemCallError.self) {
      try FileLock.take(first.number, name: "staged", in: directory.number)
    }
    #expect(error?.code == EWOULDBLOCK)
    #expect(try !FileLock.isHeld(inode: first.identity().inode), "its lock is given back")
    #expect(try Files.identity(of: path).inode == other.identity().inode)
  }

  @Test("F-43 one that was ended neither renames nor removes what another has begun since") func ended() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-staging-")
    defer { Files.removeTree(folder) }
    let destination = try Destination(folder, app: "app", files: SystemFiles())
    let (first, second, identity) = try Self.takenOver(in: destination)
    defer { second.end() }
    let error = #expect(throws: SystemCallError.self) {
      try first.whileLocked { () throws(SystemCallError) in Issue.record("it has no lock") }
    }
    #expect(error?.code == EWOULDBLOCK)
    first.discard()
    #expect(try Self.isStaged(identity, in: destination))
  }

  @Test("F-43 as long as a write hangs no other job gets the file, though the job is over") func hanging() async throws
  {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-staging-")
    defer { Files.removeTree(folder) }
    let gate = Latch()
    let hangs = Latch()
    let files = FaultyFiles { kind, nth in
      if kind == .write, nth == 2 {
        hangs.open()
        gate.wait()
      }
      return nil
    }
    let destination = try Destination(folder, app: "app", files: files)
    let first = StagingFile(destination: destination, name: "staged")
    try first.write(Self.buffer(1))
    let identity = try first.identity()
    let second = try Self.buffer(2)
    let ended = Latch()
    Thread {
      try? first.write(second)
      ended.open()
    }.start()
    try await until { hangs.isOpen }
    first.end()
    let other = StagingFile(destination: destination, name: "staged")
    let error = #expect(throws: SystemCallError.self) { try other.reopen(Self.partial(identity), boot: "boot") }
    #expect(error?.code == EWOULDBLOCK)
    gate.open()
    try await until { ended.isOpen }
    #expect(try other.reopen(Self.partial(identity), boot: "boot") != nil)
  }

  /// The partial file of a download, which another process writes.
  private struct HeldFile: ~Copyable {
    let folder: String
    let place: String
    let other: OwnedDescriptor
    let harness: Harness

    static func make() throws -> HeldFile {
      let folder = try Harness.folderWithStaging()
      let place = Harness.staging(folder)
      try Data(count: 1000).write(to: URL(fileURLWithPath: place))
      let other = try OwnedDescriptor.open(place, O_RDWR)
      #expect(flock(other.number, LOCK_EX | LOCK_NB) == 0)
      let harness = try Harness(folder: folder, clock: TestClock(jumpsWhenIdle: false))
      return HeldFile(folder: folder, place: place, other: other, harness: harness)
    }

    func release() { flock(other.number, LOCK_UN) }
  }

  @Test("F-43 a download whose partial file another process writes waits, and says for whom") func waits() async throws
  {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let held = try HeldFile.make()
    let harness = held.harness
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    let explanation = try await events.waiting(id)
    #expect(explanation.code == .lock && explanation.data["holder"]?.hasPrefix("process \(getpid()) (") == true)
    #expect(
      try held.other.identity().size == 1000 && Files.identity(of: held.place).inode == held.other.identity().inode)
    held.release()
    harness.engine.resume(id)
    #expect(try await harness.end(of: id, in: events).isFinished)
    await harness.engine.close()
    #expect(harness.contents() == Data(Trial.content.bytes(in: 0..<Trial.size)))
  }

  @Test("F-43 a download whose name was taken while it waited for another process asks for nothing more")
  func takenMeanwhile() async throws {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let held = try HeldFile.make()
    let harness = held.harness
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    #expect(try await events.waiting(id).code == .lock)
    let requests = origin.requests.count
    #expect(rename(held.place, "\(held.folder)/file") == 0)
    held.release()
    harness.engine.resume(id)
    let failure = try #require(try await harness.end(of: id, in: events).failure)
    #expect(failure.isForWantOfPlace && failure.detail.hasPrefix("file is there already in "), "\(failure)")
    #expect(
      failure.detail.hasSuffix(" isn't replaced; move the other file away, and ask for this one again"), "\(failure)")
    await harness.engine.close()
    #expect(origin.requests.count == requests)
  }
}
