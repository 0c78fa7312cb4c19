import AssetModel
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// F-47 and F-68: every operation on files fails once, in a scenario that has it.
@Suite(.timeLimit(.minutes(2))) struct FileOperationFaultTests {
  /// More than what is fetched without preallocation.
  private static let large = Content.pseudoRandom(seed: 9, count: (9 << 20) + 5)
  private static let codes = [EIO, EROFS, EMFILE, ENFILE, ENODEV]

  private static let kinds: [FaultyFiles.Kind] = [
    .open, .makeDirectory, .write, .read, .status, .setMode, .synchronizeData, .synchronize, .rename, .space,
  ]

  @Test("F-47 every operation fails the first time, with every error of a volume", arguments: kinds, codes)
  func everyOperation(kind: FaultyFiles.Kind, code: Int32) async throws {
    let files = FaultyFiles(kind, 1, code)
    let trial = try await Trial.run(digest: Trial.digest, files: files) { _, nth in nth == 1 ? .half : nil }
    #expect(trial.isFinished, "\(kind) \(code): \(trial.end)")
    #expect(files.count(kind) > 0, "\(kind) was never called")
  }

  @Test("F-47 every call of an operation fails once", arguments: kinds) func everyCall(kind: FaultyFiles.Kind)
    async throws
  {
    var nth = 0
    var isReached = true
    while isReached {
      nth += 1
      let code = Self.codes[nth % Self.codes.count]
      let files = FaultyFiles(kind, nth, code)
      let trial = try await Trial.run(digest: Trial.digest, files: files) { _, nth in nth == 1 ? .half : nil }
      #expect(trial.isFinished, "\(kind) \(nth) \(code): \(trial.end)")
      isReached = files.count(kind) >= nth
      try #require(nth < 500)
    }
  }

  @Test("F-47 preallocation fails once, with every error of a volume", arguments: codes + [ENOSPC, EDQUOT, EOPNOTSUPP])
  func preallocation(code: Int32) async throws {
    let files = FaultyFiles(.preallocate, 1, code)
    let trial = try await Trial.run(
      declares: Int64(Self.large.count), digest: Trial.digest(Self.large, count: Self.large.count), content: Self.large,
      files: files
    ) { _, _ in nil }
    #expect(trial.isFinished, "\(code): \(trial.end)")
    #expect(files.count(.preallocate) > 0)
    #expect(trial.record.history.fruitlessAttempts == 0, "no attempt failed")
  }

  @Test("F-47 cutting a file fails once, with every error of a volume", arguments: codes)
  func truncation(code: Int32) async throws {
    // The first checkpoint fails and what it should have covered is cut off: that is where a file is truncated.
    let files = FaultyFiles { kind, nth in
      switch kind {
      case .synchronizeData where nth == 1: .code(EIO)
      case .truncate where nth == 1: .code(code)
      default: nil
      }
    }
    let trial = try await Trial.run(digest: Trial.digest, files: files) { _, nth in nth == 1 ? .half : nil }
    #expect(trial.isFinished, "\(code): \(trial.end)")
    #expect(files.count(.truncate) > 0)
  }

  /// Files that stay in memory until they are published, and files that are written while they come.
  @Test(
    // Each case keeps a worker of libdispatch waiting.
    "F-47 synchronising the whole volume fails once, with every error of a volume", .serialized,
    arguments: codes + [ENOSPC], [1000, 200_000])
  func volumeSynchronization(code: Int32, size: Int) async throws {
    // More than may transfer at once: who waits for the disk makes room.
    let count = 40
    let gate = Latch()
    let files = FaultyFiles { kind, nth in
      // The first batch waits until enough has gathered for one that is synchronised together.
      if kind == .synchronize || kind == .synchronizeVolume, nth == 1 { gate.wait() }
      return kind == .synchronizeVolume && nth == 1 ? .code(code) : nil
    }
    let content = Content.pseudoRandom(seed: 3, count: size)
    // One: it keeps a worker of libdispatch for each connection, and the engine needs some too.
    let origin = try Origin { $0.resources[Trial.path] = Resource(content) }
    defer { origin.stop() }
    let harness = try Harness(files: files)
    let events = harness.engine.events
    let ids = try await harness.engine.add(
      (0..<count).map { harness.specification(origin.url(Trial.path), name: "\($0)") }
    ).compactMap(\.job)
    // They wait to be published together.
    try await until {
      var publishing = 0
      for id in ids where await harness.engine.explain(id)?.code == .delivering { publishing += 1 }
      return publishing >= 32
    }
    gate.open()
    var finished: Set<JobID> = []
    for await event in events {
      if case .failed(_, let failure) = event { Issue.record("\(failure)") }
      if case .finished(let id, _) = event { finished.insert(id) }
      if finished.count == count { break }
    }
    await harness.engine.close()
    #expect(files.count(.synchronizeVolume) > 0)
    for number in 0..<count { #expect(harness.contents("\(number)") == Data(content.bytes), "\(number)") }
    #expect(harness.journal.state.withLock { Set($0.deliveries).count } == count)
    #expect(harness.staged.isEmpty)
  }

  @Test("F-46 blocks that couldn't be preallocated stay in the ledger") func ledgerWithoutPreallocation() async throws {
    let size = Int64(Self.large.count)
    let files = FaultyFiles { kind, _ in kind == .preallocate ? .code(EOPNOTSUPP) : nil }
    files.left.withLock { $0 = VolumeSpace(free: size, total: 100 << 30, freeInodes: nil) }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Self.large)
      $0.handler = { _, _ in .cut(after: .byte(8 << 20), .silence) }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    let first = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), size: size)])[0].job)
    // Its identity is journalled after its blocks were asked for.
    try await until { try harness.journal.job(first)?.partial?.inode ?? 0 != 0 }
    // At least 1 MiB of the first one is still to come: 5 MiB more have no room in 5 1/2.
    files.left.withLock { $0?.free = (11 << 20) / 2 }
    let second = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), name: "second", size: 5 << 20)])[0]
        .job)
    for await event in events {
      if case .started(second) = event {
        Issue.record("bytes were promised twice")
        break
      }
      if case .waiting(second, let explanation) = event {
        #expect(explanation.code == .disk)
        break
      }
    }
    #expect(origin.requests.count == 1)
    await harness.engine.close()
  }
}

/// Holds threads back while it isn't open.
final class Latch: @unchecked Sendable {
  // @unchecked: the condition's lock is held wherever it is read or changed.
  private var state = false
  private let condition = NSCondition()

  func wait() { condition.withLock { while !state { condition.wait() } } }
  var isOpen: Bool { condition.withLock { state } }
  func open() { set(true) }
  func close() { set(false) }

  private func set(_ isOpen: Bool) {
    condition.withLock {
      state = isOpen
      condition.broadcast()
    }
  }
}
