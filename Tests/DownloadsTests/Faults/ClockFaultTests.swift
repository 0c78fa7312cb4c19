import AssetModel
import DevelopmentOrigin
import Foundation
import Synchronization
import Testing

@testable import Downloads

/// F-61: clocks that jump, a machine that boots without one, and one that sleeps for a week.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ClockFaultTests {
  static let tenYears: Int64 = 10 * 365 * 24 * 3_600_000_000_000
  /// Ten years on, ten years back, and 1970: no clock at boot.
  static let jumps = [tenYears, -tenYears, -1_700_000_000_000_000_000]

  private func clock(_ boot: String, _ jump: Int64 = 0) -> TestClock {
    let clock = TestClock(boot: boot, jumpsWhenIdle: false)
    clock.wallShift.withLock { $0 = jump }
    return clock
  }

  @Test("F-61 a wait before another try, over a reboot after which the wall clock is years off", arguments: jumps)
  func reboot(jump: Int64) async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in .status(500) }
    }
    defer { origin.stop() }
    let first = try Harness(clock: clock("boot A"))
    let events = first.engine.events
    let id = try #require(try await first.engine.add([first.specification(origin.url(Trial.path), .background)])[0].job)
    let whole = try #require(try await events.waiting(id).endsIn)
    await first.engine.close()
    #expect(whole > 10, "there is something to wait for: \(whole)")

    origin.reset()
    let second = try Harness(
      folder: first.folder, journal: MemoryJournal(after: first.journal), clock: clock("boot B", jump))
    let again = second.engine.events
    if jump > 0 {
      // As far as anybody can tell, it is long over.
      #expect(try await again.waiting(id).code == .retrying)
      #expect(origin.requests.count == 1)
      await second.engine.close()
      return
    }
    let rest = try #require(await second.engine.explain(id)?.endsIn)
    #expect(rest <= whole && rest > whole - 1, "never longer than it was: \(rest) of \(whole)")
    // The clock is set right, and the service starts anew in the same boot: what has passed has passed.
    second.clock.advance(by: .seconds(8))
    second.clock.wallShift.withLock { $0 = 0 }
    await second.engine.close()
    let later = clock("boot B", Self.tenYears)
    later.advance(by: .seconds(8))
    let third = try Harness(folder: first.folder, journal: MemoryJournal(after: second.journal), clock: later)
    let left = try #require(await third.engine.explain(id)?.endsIn)
    #expect(left <= whole - 8 && left >= 0, "it didn't begin again: \(left) of \(whole)")
    #expect(origin.requests.isEmpty)
    await third.engine.close()
  }

  @Test("F-61 fourteen days without progress aren't counted by a wall clock", arguments: jumps)
  func longCount(jump: Int64) async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in .status(500) }
    }
    defer { origin.stop() }
    let first = try Harness(clock: clock("boot A"))
    let events = first.engine.events
    let id = try #require(try await first.engine.add([first.specification(origin.url(Trial.path), .background)])[0].job)
    _ = try await events.waiting(id)
    // Thirteen days of running time count, whatever follows.
    first.clock.advance(by: .seconds(13 * 24 * 3600))
    _ = await first.engine.progress(of: id)
    _ = try await events.waiting(id)
    await first.engine.close()

    let second = try Harness(
      folder: first.folder, journal: MemoryJournal(after: first.journal), clock: clock("boot B", jump)
    ) { $0.takesUpOpenJobs = false }
    let again = second.engine.events
    second.engine.resume(id)
    #expect(try await again.waiting(id).code == .retrying, "not given up because a clock says so")
    second.clock.advance(by: .seconds(2 * 24 * 3600))
    second.engine.resume(id)
    #expect(try await second.end(of: id, in: again).reason == .noProgress, "fourteen days are fourteen days")
    await second.engine.close()
  }

  @Test("F-61 the wall clock jumps in mid-transfer: nothing happens", arguments: jumps)
  func jump(jump: Int64) async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in
      nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil
    }
    try await scene.engine.received(scene.id, 1 << 20)
    scene.clock.wallShift.withLock { $0 = jump }
    await scene.advance(by: .seconds(5))
    #expect(await scene.engine.explain(scene.id)?.code == .transferring, "no deadline is on the wall clock")
    scene.engine.networkChanged()
    #expect(try await scene.end().isFinished)
    let record = try await scene.close()
    #expect(scene.origin.requests.count == 2 && record.history.fruitlessAttempts == 0)
    #expect(scene.isWhole)
  }

  @Test("F-61 Retry-After as a date is converted once: local clocks have no say", arguments: [0] + jumps)
  func retryAfterDate(jump: Int64) async throws {
    let clock = clock("boot", jump)
    let scene = try await Scene(.background, clock: clock) { _, nth in
      nth == 1
        ? .with {
          $0.status = 503
          $0.retryAfter = .date(3600)
        } : nil
    }
    let wait = try #require(try await scene.isWaiting().endsIn)
    #expect(wait > 3595 && wait <= 3601, "\(wait)")
    clock.wallShift.withLock { $0 = -jump }
    await scene.advance(by: .seconds(3000))
    let rest = try #require(await scene.engine.explain(scene.id)?.endsIn)
    #expect(rest > 590 && rest <= 602, "\(rest)")
    #expect(scene.origin.requests.count == 1)
    await scene.advance(by: .seconds(610))
    #expect(try await scene.end().isFinished)
    _ = try await scene.close()
  }

  @Test("F-61 suspended for a week in mid-transfer: one more request, and nothing lost") func suspended() async throws {
    let clock = TestClock(jumpsWhenIdle: false)
    let scene = try await Scene(.background, digest: Trial.digest, clock: clock) { _, nth in
      nth == 1 ? .cut(after: .byte(2 << 20), .silence) : nil
    }
    try await scene.engine.received(scene.id, 2 << 20)
    await scene.advance(by: .seconds(7 * 24 * 3600))
    scene.engine.networkChanged()
    // It may have been taken for a stall before; that wait has no purpose.
    try await until {
      if await scene.engine.explain(scene.id)?.code == .retrying { scene.engine.resume(scene.id) }
      return scene.origin.requests.count == 2
    }
    #expect(try await scene.end().isFinished)
    let record = try await scene.close()
    #expect(scene.isWhole)
    #expect(scene.origin.requests.map { $0.header("Range") } == [nil, "bytes=\(2 << 20)-"])
    #expect(record.history.fruitlessAttempts <= 1)
  }

  @Test("F-61 moments at the ends of what a number can say: waits stay within 0 and their length")
  func extremes() {
    let numbers: [Int64] = [.min, .min + 1, -1, 0, 1, 1_700_000_000_000_000_000, .max - 1, .max]
    for boot in ["a", "b"] {
      for since in numbers {
        for now in numbers {
          let before = StoredMoment(bootIdentifier: "a", boot: since, wall: since)
          let after = StoredMoment(bootIdentifier: boot, boot: now, wall: now)
          #expect(before.elapsed(until: after) >= 0)
          for length in numbers {
            let wait = StoredWait(since: before, length: length)
            #expect((0...max(0, length)).contains(wait.remaining(at: after)))
          }
        }
      }
    }
  }

  @Test("F-61 what waited before a reboot goes before others by a day at most", arguments: jumps)
  func aging(jump: Int64) {
    let clock = clock("boot B", jump)
    let since = TransferEngine.sinceBoot(
      StoredMoment(bootIdentifier: "boot A", boot: 0, wall: 1_700_000_000_000_000_000), clock)
    #expect(since <= clock.boot && clock.boot - since <= .seconds(24 * 3600))
  }
}
