import AssetModel
import DevelopmentOrigin
import Downloads
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import Testing

/// F-44 and F-46: room on a volume as a ledger, with a volume whose figures the test says.
@Suite(.timeLimit(.minutes(2))) struct SpaceTests {
  /// The system's files on a volume of a given size.
  final class Volume: FileOperations {
    private let system = SystemFiles()
    let left: Mutex<VolumeSpace>
    private let isFilling: Bool

    init(free: Int64, total: Int64 = 100 << 30, inodes: Int64? = nil, isFilling: Bool = false) {
      self.isFilling = isFilling
      left = Mutex(VolumeSpace(free: free, total: total, freeInodes: inodes))
    }

    func space(of file: Int32) throws(SystemCallError) -> VolumeSpace { left.withLock { $0 } }

    func open(_ name: String, in directory: Int32, _ flags: Int32, mode: UInt32) throws(SystemCallError)
      -> OwnedDescriptor
    { try system.open(name, in: directory, flags, mode: mode) }
    func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError) {
      try system.makeDirectory(name, in: directory, mode: mode)
    }
    func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemCallError) -> Int {
      let count = try system.write(bytes, to: file, at: offset)
      if isFilling { left.withLock { $0.free -= Int64(count) } }
      return count
    }
    func read(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64) throws(SystemCallError)
      -> Int
    { try system.read(buffer, from: file, at: offset) }
    func status(of file: Int32) throws(SystemCallError) -> FileIdentity { try system.status(of: file) }
    func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError) { try system.setMode(mode, of: file) }
    func truncate(_ file: Int32, to size: Int64) throws(SystemCallError) { try system.truncate(file, to: size) }
    func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) {
      try system.preallocate(file, from: offset, count: count)
    }
    func startWriteback(_ file: Int32, from offset: Int64, count: Int64) {
      system.startWriteback(file, from: offset, count: count)
    }
    func synchronizeData(_ file: Int32) throws(SystemCallError) { try system.synchronizeData(file) }
    func synchronize(_ file: Int32) throws(SystemCallError) { try system.synchronize(file) }
    func synchronizeVolume(of file: Int32) throws(SystemCallError) { try system.synchronizeVolume(of: file) }
    func rename(_ name: String, in directory: Int32, to newName: String, in newDirectory: Int32)
      throws(SystemCallError)
    { try system.rename(name, in: directory, to: newName, in: newDirectory) }
    func remove(_ name: String, in directory: Int32) throws(SystemCallError) {
      try system.remove(name, in: directory)
    }
  }

  private static let policy = FreeSpacePolicy(minimum: 1 << 30, percent: 0)
  private static let size = Int64(Trial.size)

  private func scene(
    _ volume: Volume, _ transferClass: TransferClass = .foreground,
    clock: TestClock = TestClock(jumpsWhenIdle: false), makeRoom: (@Sendable (SpaceShortage) async -> Bool)?,
    names: [String] = ["file"], reply: @escaping @Sendable (RecordedRequest, Int) -> Reply? = { _, _ in nil }
  ) async throws -> (Origin, Harness, [JobID], AsyncStream<DownloadEvent>) {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = reply
    }
    let harness = try Harness(clock: clock, files: volume) {
      $0.freeSpace = Self.policy
      $0.makeRoom = makeRoom
    }
    let events = harness.engine.events
    let results = try await harness.engine.add(
      names.map { harness.specification(origin.url(Trial.path), name: $0, transferClass, size: Self.size) })
    return (origin, harness, results.compactMap(\.job), events)
  }

  @Test(
    "F-44 the floor stays free, whichever class asks", arguments: [TransferClass.foreground, .essential, .background])
  func floor(transferClass: TransferClass) async throws {
    let volume = Volume(free: (1 << 30) + Self.size - 1)
    let (origin, harness, ids, events) = try await scene(volume, transferClass, makeRoom: nil)
    defer { origin.stop() }
    var reports: [VolumeReport] = []
    for await event in events {
      if case .volume(let report) = event { reports.append(report) }
      guard case .waiting(ids[0], let explanation) = event else { continue }
      #expect(explanation.code == .disk && explanation.data["need"] == "\(Self.size)")
      #expect(explanation.data["floor"] == "\(1 << 30)" && explanation.data["free"] == "\((1 << 30) + Self.size - 1)")
      break
    }
    #expect(origin.requests.isEmpty, "no server was asked for what there is no room for")
    let isTold = reports.contains { if case .short(let shortage) = $0 { shortage.need == Self.size } else { false } }
    #expect(isTold, "\(reports)")
    volume.left.withLock { $0.free = 50 << 30 }
    harness.engine.resume(ids[0])
    #expect(try await harness.end(of: ids[0], in: events).isFinished)
    await harness.engine.close()
  }

  @Test("F-44 the floor stays free, whatever a server sends without a length") func floorWithoutLength() async throws {
    let volume = Volume(free: (1 << 30) + (16 << 20), isFilling: true)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(.pseudoRandom(seed: 5, count: 64 << 20))
      $0.handler = { _, _ in .with { $0.framing = .chunked } }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: volume) { $0.freeSpace = Self.policy }
    let events = harness.engine.events
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .foreground)])[0].job)
    #expect(try await events.waiting(id).code == .disk)
    // What was on its way by then, and no more.
    #expect(volume.left.withLock { $0.free } > (1 << 30) - (8 << 20))
    await harness.engine.close()
  }

  @Test("F-44 a background download doesn't start while room is low; an essential one does") func low() async throws {
    for transferClass in [TransferClass.essential, .prefetch] {
      let (origin, harness, ids, events) = try await scene(
        Volume(free: (2 << 30) - 1), transferClass, makeRoom: nil)
      defer { origin.stop() }
      for await event in events {
        if case .waiting(ids[0], let explanation) = event {
          #expect(transferClass == .prefetch && explanation.code == .disk)
          break
        }
        if case .finished = event {
          #expect(transferClass == .essential)
          break
        }
      }
      await harness.engine.close()
    }
  }

  @Test("F-44 room is made, and the download goes on by itself") func purge() async throws {
    let volume = Volume(free: 1 << 30)
    let asked = Mutex<[SpaceShortage]>([])
    let (origin, harness, ids, events) = try await scene(
      volume,
      makeRoom: { shortage in
        asked.withLock { $0.append(shortage) }
        volume.left.withLock { $0.free = shortage.purgeUntil }
        return true
      })
    defer { origin.stop() }
    #expect(try await harness.end(of: ids[0], in: events).isFinished)
    await harness.engine.close()
    let shortage = try #require(asked.withLock { $0.first })
    #expect(asked.withLock { $0.count } == 1)
    #expect(shortage.purgeUntil == Self.size + (1 << 30) + (1 << 30) / 20)
  }

  @Test("F-44 where nothing can be deleted, the volume is looked at again after a while, and not before")
  func nothingToDelete() async throws {
    let volume = Volume(free: 1 << 30)
    let asked = Counter()
    let clock = TestClock(jumpsWhenIdle: false)
    let (origin, harness, ids, events) = try await scene(
      volume, clock: clock,
      makeRoom: { _ in
        asked.number.add(1, ordering: .relaxed)
        return false
      })
    defer { origin.stop() }
    for await event in events { if case .waiting = event { break } }
    for round in 1...3 {
      // Each question is a turn of the engine.
      while asked.number.load(ordering: .relaxed) < round { _ = await harness.engine.explain(ids[0]) }
      for _ in 0..<20 { _ = await harness.engine.explain(ids[0]) }
      #expect(asked.number.load(ordering: .relaxed) == round)
      clock.advance(by: .seconds(60))
    }
    await harness.engine.close()
  }

  @Test("F-44 a length without reason costs nothing: not a block, not a byte, and the next answer counts")
  func dishonestLength() async throws {
    let volume = Volume(free: 50 << 30)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in
        nth == 1 ? .raw("HTTP/1.1 200 OK\r\nContent-Length: 5000000000000\r\nETag: \"a\"\r\n\r\nbeginning") : nil
      }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: volume) { $0.freeSpace = Self.policy }
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    for await event in events {
      guard case .waiting(id, let explanation) = event else { continue }
      #expect(explanation.code == .disk && explanation.data["need"] == "5000000000000")
      break
    }
    #expect(harness.staged.isEmpty && harness.journal.state.withLock { $0.jobs[id]?.partial } == nil)
    harness.engine.resume(id)
    #expect(try await harness.end(of: id, in: events).isFinished)
    await harness.engine.close()
  }

  @Test("F-44 blocks that don't suffice are given back, and what arrived is kept", arguments: [ENOSPC, EDQUOT])
  func partlyPreallocated(code: Int32) async throws {
    let size = 24 << 20
    let content = Content.pseudoRandom(seed: 5, count: size)
    let origin = try Origin { $0.resources[Trial.path] = Resource(content) }
    defer { origin.stop() }
    let files = FaultyFiles(.preallocate, 1, code)
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    for await event in events {
      guard case .waiting(id, let explanation) = event else { continue }
      #expect(explanation.code == .disk)
      break
    }
    #expect(files.count(.truncate) == 1)
    let durable = try #require(try harness.journal.job(id)).durableBytes
    #expect(durable > 0)
    harness.engine.resume(id)
    #expect(try await harness.end(of: id, in: events).isFinished)
    #expect(origin.requests.map { $0.header("Range") } == [nil, "bytes=\(durable)-"])
    await harness.engine.close()
    #expect(harness.contents() == Data(content.bytes(in: 0..<size)))
  }

  @Test("F-44 inodes are used up") func inodes() async throws {
    let volume = Volume(free: 50 << 30, inodes: 0)
    let (origin, harness, ids, events) = try await scene(volume, makeRoom: nil)
    defer { origin.stop() }
    for await event in events {
      guard case .waiting(_, let explanation) = event else { continue }
      #expect(explanation.code == .disk && explanation.data["inodes"] == "none left" && explanation.data["need"] == nil)
      break
    }
    #expect(try harness.journal.job(ids[0])?.lastError?.contains("no inodes left") == true)
    volume.left.withLock { $0.freeInodes = 1 }
    harness.engine.resume(ids[0])
    #expect(try await harness.end(of: ids[0], in: events).isFinished)
    await harness.engine.close()
  }

  @Test("F-46 two downloads can't promise the same free bytes") func twice() async throws {
    // Room for one and a half: while the first one runs, the second one waits.
    let volume = Volume(free: (1 << 30) + Self.size * 3 / 2)
    let (origin, harness, ids, events) = try await scene(volume, makeRoom: nil, names: ["first", "second"]) {
      _, _ in .with { $0.timing.beforeStatus = .milliseconds(200) }
    }
    defer { origin.stop() }
    var held: JobID?
    var finished: JobID?
    for await event in events {
      if case .waiting(let id, let explanation) = event {
        #expect(explanation.code == .disk)
        held = id
      }
      if case .finished(let id, _) = event {
        if finished == nil {
          finished = id
          #expect(held != nil && held != id)
          // What the first one wrote is gone from the volume; the test's figures don't know that.
          harness.engine.resume(held ?? ids[1])
        } else {
          break
        }
      }
    }
    await harness.engine.close()
    #expect(Set([held, finished]) == Set(ids))
  }

  @Test("F-47 a queue on a broken volume isn't tried one by one") func storm() async throws {
    let files = FaultyFiles { kind, _ in kind == .write ? .code(EROFS) : nil }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    _ = try await harness.engine.add(
      (0..<200).map { harness.specification(origin.url(Trial.path), name: "\($0)", .background) })
    var waiting = 0
    var reports = 0
    for await event in events {
      if case .volume(.failing(_, EROFS)) = event { reports += 1 }
      if case .waiting(_, let explanation) = event {
        #expect(explanation.code == .volume)
        waiting += 1
        if waiting == 200 { break }
      }
    }
    #expect(reports == 1, "one notice")
    #expect(origin.requests.count <= 16, "those that ran when it broke: \(origin.requests.count)")
    await harness.engine.close()
  }
}

private final class Counter: Sendable {
  let number = Atomic(0)
}
