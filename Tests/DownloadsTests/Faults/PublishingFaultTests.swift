import AssetModel
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import Downloads

/// F-41, F-43 and F-47 between `verified` and `finished`: what is verified stays what it is, whatever fails from then on.
@Suite(.timeLimit(.minutes(2))) struct PublishingFaultTests {
  private static let codes = [EIO, ENOSPC, EROFS, EMFILE]
  /// One that is handed over in memory, and one that grows on the disk.
  private static let sizes = [1000, Trial.size]

  private static func content(_ size: Int) -> Content { Content.pseudoRandom(seed: 5, count: size) }

  @Test("F-47 a rename that fails costs no byte", arguments: codes, sizes)
  func renameFails(code: Int32, size: Int) async throws {
    let trial = try await Trial.run(content: Self.content(size), files: FaultyFiles(.rename, 1, code)) { _, _ in nil }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.requests.count == 1, "what is verified isn't fetched again")
  }

  @Test("F-47 a directory that can't be synchronised: what has its name keeps it", arguments: codes, 2...3)
  func directoryFails(code: Int32, nth: Int) async throws {
    // The first synchronisation is the file's own.
    let trial = try await Trial.run(files: FaultyFiles(.synchronize, nth, code)) { _, _ in nil }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.requests.count == 1)
  }

  @Test("F-41 the rename fails and so does what the journal is told of it", arguments: sizes)
  func renameAndJournalFail(size: Int) async throws {
    let fails = Mutex(false)
    let files = FaultyFiles { kind, nth in
      guard kind == .rename, nth == 1 else { return nil }
      fails.withLock { $0 = true }
      return .code(ENOSPC)
    }
    try await Self.fetchesOnce(size, files) {
      fails.withLock { fails in
        defer { fails = false }
        return fails
      }
    }
  }

  @Test("F-41 it has its name, and the journal can't be told: it isn't fetched again", arguments: sizes)
  func finishedIsNotCommitted(size: Int) async throws {
    let fails = Mutex(false)
    let files = FaultyFiles { kind, nth in
      if kind == .rename, nth == 1 { fails.withLock { $0 = true } }
      return nil
    }
    try await Self.fetchesOnce(size, files) {
      fails.withLock { fails in
        defer { fails = false }
        return fails
      }
    }
  }

  /// One fetch, of which one commit fails whenever `isToFail` says so: it ends well, and nothing is asked for again.
  private static func fetchesOnce(
    _ size: Int, _ files: FaultyFiles, _ isToFail: @escaping @Sendable () -> Bool
  ) async throws {
    let journal = MemoryJournal { _ in if isToFail() { throw MemoryJournal.Failing() } }
    let trial = try await Trial.run(content: content(size), journal: journal, files: files) { _, _ in nil }
    #expect(trial.isFinished && trial.requests.count == 1, "\(trial.end), \(trial.requests.count) requests")
  }

  /// As the kernel does for a process that is killed: this one only stands still.
  private static func giveBackLocks(of path: String) throws {
    let identity = try Files.identity(of: path)
    for number in try Files.names(in: "/proc/self/fd").compactMap({ Int32($0) }) {
      var status = stat()
      guard fstat(number, &status) == 0, status.st_ino == identity.inode, status.st_dev == identity.device else {
        continue
      }
      flock(number, LOCK_UN)
    }
  }

  /// A run that stops between `verified` and the rename; `then` gets its folder and what its journal knew.
  private func stopped(
    content: Content = Trial.content, _ then: (Harness, MemoryJournal, JobID, Origin) async throws -> Void
  ) async throws {
    let gate = Latch()
    let files = FaultyFiles { kind, nth in
      if kind == .rename, nth == 1 { gate.wait() }
      return nil
    }
    let origin = try Origin { $0.resources[Trial.path] = Resource(content) }
    defer { origin.stop() }
    let first = try Harness(files: files)
    let id = try #require(try await first.engine.add([first.specification(origin.url(Trial.path))])[0].job)
    try await until { files.count(.rename) > 0 }
    #expect(try first.journal.job(id)?.state == .verified)
    try Self.giveBackLocks(of: Harness.staging(first.folder))
    do {
      try await then(first, first.journal, id, origin)
    } catch {
      gate.open()
      throw error
    }
    gate.open()
    await first.engine.close()
  }

  @Test("F-41 killed before the rename, which fails in the next run as well", arguments: codes)
  func replayFails(code: Int32) async throws {
    try await stopped { first, journal, id, origin in
      let second = try Harness(
        folder: first.folder, journal: MemoryJournal(after: journal), files: FaultyFiles(.rename, 1, code)
      ) { $0.takesUpOpenJobs = false }
      let events = second.engine.events
      second.engine.resume(id)
      #expect(try await second.end(of: id, in: events).isFinished)
      #expect(second.contents() == Trial.bytes)
      #expect(origin.requests.count == 1)
      await second.engine.close()
    }
  }

  enum Tampering: String, CaseIterable, Sendable { case shorter, another, gone }

  @Test("F-41 killed before the rename, and the file isn't what was verified any more", arguments: Tampering.allCases)
  func replayOfAnother(tampering: Tampering) async throws {
    try await stopped { first, journal, id, origin in
      let place = Harness.staging(first.folder)
      switch tampering {
      case .shorter: #expect(truncate(place, 1 << 20) == 0)
      case .another:
        #expect(rename(place, place + "-before") == 0)
        try Data(count: Trial.size).write(to: URL(fileURLWithPath: place))
        #expect(unlink(place + "-before") == 0)
      case .gone: #expect(unlink(place) == 0)
      }
      let second = try Harness(folder: first.folder, journal: MemoryJournal(after: journal)) {
        $0.takesUpOpenJobs = false
      }
      let events = second.engine.events
      second.engine.resume(id)
      #expect(try await second.end(of: id, in: events).isFinished)
      #expect(second.contents() == Trial.bytes)
      #expect(origin.requests.count == 2)
      await second.engine.close()
    }
  }

  enum Command: String, CaseIterable, Sendable { case cancel, pause }

  @Test(
    "F-41 the verified file is gone: who has stopped the job meanwhile needn't wait for another",
    arguments: Command.allCases)
  func stoppedMeanwhile(command: Command) async throws {
    try await stopped { first, journal, id, origin in
      #expect(unlink(Harness.staging(first.folder)) == 0)
      let gate = Latch()
      let isHeld = Mutex(false)
      let later = MemoryJournal { number in
        guard number == 1 else { return }
        isHeld.withLock { $0 = true }
        gate.wait()
      }
      let known = journal.state.withLock { $0.jobs }
      later.state.withLock { $0.jobs = known }
      let second = try Harness(folder: first.folder, journal: later) { $0.takesUpOpenJobs = false }
      let events = second.engine.events
      second.engine.resume(id)
      try await until { isHeld.withLock { $0 } }
      switch command {
      case .cancel: second.engine.cancel(id)
      case .pause: second.engine.pause(id)
      }
      // The command has arrived when this is answered.
      _ = await second.engine.explain(id)
      gate.open()
      let end = try await events.first {
        switch $0 {
        case .finished, .failed, .cancelled, .paused: true
        default: false
        }
      }
      #expect(end == (command == .cancel ? .cancelled(id) : .paused(id)))
      #expect(origin.requests.count == 1, "nothing is fetched that no app wants")
      await second.engine.close()
    }
  }

  @Test("F-54 cancelled while only its name is missing, and when it has that already", arguments: [false, true])
  func cancelVerified(hasName: Bool) async throws {
    let fails = Mutex(true)
    let files = FaultyFiles { kind, nth in
      // The target's directory is synchronised after the rename; the first synchronisation is the file's own.
      let isMeant = hasName ? kind == .synchronize && nth >= 2 : kind == .rename
      return isMeant && fails.withLock { $0 } ? .code(EROFS) : nil
    }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    try await until { await harness.engine.explain(id)?.code == .volume }
    #expect(try harness.journal.job(id)?.state == .verified)
    fails.withLock { $0 = false }
    harness.engine.cancel(id)
    if hasName {
      // Too late: the next look at the volume finds it finished.
      try await until {
        harness.engine.resume(id)
        return try harness.journal.job(id)?.state == .finished
      }
      #expect(harness.contents() == Trial.bytes)
    } else {
      #expect(try await harness.end(of: id, in: events) == .cancelled)
      try await until { harness.staged.isEmpty }
      #expect(harness.contents() == nil)
    }
    #expect(origin.requests.count == 1)
    await harness.engine.close()
  }
}
