import AssetModel
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import Downloads

/// The last judgement of a file that is all there: it can't be read, or somebody closes the engine meanwhile.
@Suite struct VerifyingFaultsTests {
  @Test("F-47 the file can't be read when it is judged: the slot comes back, and the engine can be closed")
  func unreadable() async throws {
    let isResumed = Mutex(false)
    let files = FaultyFiles { kind, _ in kind == .read && isResumed.withLock { $0 } ? .code(EIO) : nil }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in
        if nth == 1 { return .half }
        isResumed.withLock { $0 = true }
        return nil
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
}
