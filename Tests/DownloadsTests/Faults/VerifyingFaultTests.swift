import AssetModel
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import Downloads

/// The last check of a file that is all there: it can't be read, or its owner closes the engine meanwhile.
@Suite(.timeLimit(.minutes(2))) struct VerifyingFaultTests {
  @Test("F-47 the file can't be read when it is checked: the slot comes back, and the engine can be closed")
  func unreadable() async throws {
    let isResumed = Mutex(false)
    let files = FaultyFiles { kind, _ in kind == .read && isResumed.withLock { $0 } ? .code(EIO) : nil }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in
        if nth == 2 { isResumed.withLock { $0 = true } }
        return nth == 1 ? .half : nil
      }
    }
    defer { origin.stop() }
    let clock = TestClock(jumpsWhenIdle: false)
    let harness = try Harness(clock: clock, files: files)
    let events = harness.engine.events
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), digest: Trial.digest)])[0].job)
    #expect(try await events.waiting(id).code == .retrying)
    harness.engine.resume(id)
    #expect(try await events.waiting(id).code == .volume)
    isResumed.withLock { $0 = false }
    harness.engine.resume(id)
    #expect(try await harness.end(of: id, in: events).isFinished)
    #expect(harness.contents() == Trial.bytes)
    await harness.engine.close()
  }

  @Test("the engine is closed while a file is checked whose digest is wrong: nothing more is fetched")
  func closedMeanwhile() async throws {
    let gate = Latch()
    let isResumed = Mutex(false)
    let files = FaultyFiles { kind, _ in
      if kind == .read, isResumed.withLock({ $0 }) { gate.wait() }
      return nil
    }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in
        if nth > 1 { isResumed.withLock { $0 = true } }
        // It would say at once that it has another file.
        return .with {
          $0.removedHeaders = ["Repr-Digest"]
          if nth == 1 { $0.ending = .init(.close, after: .byte(3 << 20)) }
        }
      }
    }
    defer { origin.stop() }
    let first = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = first.engine.events
    let wrong = Trial.digest(Content.pseudoRandom(seed: 1, count: 10), count: 10)
    let id = try #require(
      try await first.engine.add([first.specification(origin.url(Trial.path), digest: wrong)])[0].job)
    #expect(try await events.waiting(id).code == .retrying)
    first.engine.resume(id)
    try await first.engine.isHeld(id, by: .verifying)
    let closing = Task { await first.engine.close() }
    // Additions are refused from then on.
    try await until {
      let probe = first.specification("not a URL", name: "probe", .prefetch)
      do { _ = try await first.engine.add([probe]) } catch { return error is EngineClosed }
      return false
    }
    gate.open()
    await closing.value
    #expect(origin.requests.count == 2)
    let record = try #require(try first.journal.job(id))
    #expect(record.state == .open && record.generation == 2 && record.partial == nil, "\(record)")
    #expect(record.history.digestMismatches == 1)

    let second = try Harness(folder: first.folder, journal: MemoryJournal(after: first.journal)) {
      $0.takesUpOpenJobs = false
    }
    let later = second.engine.events
    second.engine.resume(id)
    #expect(try await second.end(of: id, in: later).reason == .digestMismatch)
    #expect(origin.requests.count == 3 && origin.requests.last?.header("Range") == nil)
    await second.engine.close()
  }
}
