import AssetModel
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import Downloads

/// F-44: blocks that were preallocated for a file are of the volume's free ones no more, and of what it needs neither.
@Suite(.timeLimit(.minutes(3))) struct PreallocationTests {
  private static let size = 24 << 20
  private static let floor: Int64 = 1 << 20
  private static let content = Content.pseudoRandom(seed: 5, count: size)
  private static let whole = Data(content.bytes(in: 0..<size))
  /// Room for the file and a little more, but not for it twice.
  private static let free = Int64(size) + floor + (2 << 20)

  private static func harness(_ files: any FileOperations, folder: String? = nil, journal: MemoryJournal) throws
    -> Harness
  {
    try Harness(folder: folder, journal: journal, clock: TestClock(jumpsWhenIdle: false), files: files) {
      $0.freeSpace = FreeSpacePolicy(minimum: floor, percent: 0)
      $0.takesUpOpenJobs = false
    }
  }

  /// The volume is looked at while the blocks are there and no listener was told so.
  @Test("F-44 a file that fits is fetched, though its own blocks fill the volume") func fits() async throws {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Self.content) }
    defer { origin.stop() }
    let volume = BlockVolume(free: Self.free) { usleep(20_000) }
    let harness = try Self.harness(volume, journal: MemoryJournal())
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    #expect(try await Self.settledOrHeld(id, harness, events) == nil)
    await harness.engine.close()
    #expect(harness.contents() == Self.whole)
  }

  @Test("F-45 a later run goes on in the blocks that an earlier one had preallocated", arguments: [true, false])
  func later(journalKnows: Bool) async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Self.content)
      $0.handler = { _, nth in nth == 1 ? .cut(after: .byte(10 << 20), .silence) : nil }
    }
    defer { origin.stop() }
    let volume = BlockVolume(free: Self.free)
    let journal = MemoryJournal()
    let first = try Self.harness(volume, journal: journal)
    let id = try #require(try await first.engine.add([first.specification(origin.url(Trial.path))])[0].job)
    try await until { try journal.job(id)?.partial?.inode ?? 0 != 0 }
    await first.engine.close()
    #expect(volume.state.withLock { $0.free } < Int64(Self.size), "its blocks are taken")
    if !journalKnows {
      // It was killed before the journal heard of the file.
      var record = try #require(try journal.job(id))
      record.partial = nil
      try journal.commit([.job(record)])
    }
    let second = try Self.harness(volume, folder: first.folder, journal: MemoryJournal(after: journal))
    let events = second.engine.events
    second.engine.resume(id)
    #expect(try await Self.settledOrHeld(id, second, events) == nil)
    await second.engine.close()
    #expect(second.contents() == Self.whole)
  }

  /// nil: it is finished; otherwise why it waits.
  private static func settledOrHeld(
    _ id: JobID, _ harness: Harness, _ events: AsyncStream<DownloadEvent>
  ) async throws -> String? {
    for await event in events {
      switch event {
      case .finished(id, _): return nil
      case .failed(id, let failure): return "\(failure)"
      case .waiting(id, let explanation): return "\(explanation)"
      default: break
      }
    }
    return "closed"
  }

  @Test(
    "F-45 on a real ext4 volume with room for the file once, each run ends well",
    .enabled(if: Ext4Volume.canMount, "mounting a loop device takes root and mkfs.ext4"))
  func ext4() async throws {
    let size = 20 << 20
    let origin = try Origin { $0.resources["/file"] = Resource(.pseudoRandom(seed: 9, count: size)) }
    defer { origin.stop() }
    let volume = try Ext4Volume(megabytes: 64)
    defer { volume.end() }
    let state = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-state-")
    defer { Files.removeTree(state) }
    // The floor of `fetch` is three hundredths here, of some 60 MiB.
    try volume.fill(leaving: Int64(size) + (4 << 20))
    for run in 1...4 {
      let ended = try await ChildProcess.run(
        "\(ChildProcess.products)/outrider",
        ["fetch", "--foreground", "--to", volume.path, "--state", "\(state)/\(run)", origin.url("/file")],
        log: "\(state)/log")
      #expect(ended.code == 0, "run \(run): \(ended.output)")
      #expect(try Files.identity(of: "\(volume.path)/file").size == Int64(size))
      unlink("\(volume.path)/file")
    }
  }
}

/// An ext4 filesystem in a file, mounted.
final class Ext4Volume {
  let path: String
  private let folder: String

  static let canMount: Bool = {
    guard geteuid() == 0, let volume = try? Ext4Volume(megabytes: 8) else { return false }
    volume.end()
    return true
  }()

  init(megabytes: Int) throws {
    folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-ext4-")
    path = "\(folder)/volume"
    let image = "\(folder)/image"
    mkdir(path, 0o700)
    let file = try OwnedDescriptor.open(image, O_RDWR | O_CREAT)
    guard ftruncate(file.number, off_t(megabytes) << 20) == 0,
      // No part of it is kept for root: what is free is free for every user.
      try Self.run("mkfs.ext4", ["-q", "-F", "-m", "0", image]), try Self.run("mount", ["-o", "loop", image, path])
    else {
      Files.removeTree(folder)
      throw Unexpected("no ext4 volume can be had")
    }
  }

  private static func run(_ name: String, _ arguments: [String]) throws -> Bool {
    let program = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map { "\($0)/\(name)" }.first(where: Files.exists)
    guard let program else { return false }
    return try ChildProcess.runBriefly(program, arguments).code == 0
  }

  /// Takes up what is free but so much.
  func fill(leaving free: Int64) throws {
    let file = try OwnedDescriptor.open("\(path)/filler", O_RDWR | O_CREAT)
    let files = SystemFiles()
    let rest = try files.space(of: file.number).free - free
    try files.preallocate(file.number, from: 0, count: rest)
  }

  func end() {
    umount2(path, Int32(MNT_DETACH))
    Files.removeTree(folder)
  }
}
