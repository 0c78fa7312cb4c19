import AssetModel
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import Downloads

/// A job that is alone writes on the network thread, unless that would keep others waiting.
@Suite(.timeLimit(.minutes(2))) struct InPlaceWritesTests {
  private static let content = Content.pseudoRandom(seed: 9, count: 6 << 20)

  /// Where the writes of a run happened: true on the network thread.
  private final class Places: Sendable {
    private let seen = Mutex<[Bool]>([])
    var all: [Bool] { seen.withLock { $0 } }

    func note() {
      let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
      seen.withLock { $0.append(name == "outrider.net\n") }
    }
  }

  private func files(_ places: Places, _ write: @escaping @Sendable (Int) -> FaultyFiles.Fault? = { _ in nil })
    -> FaultyFiles
  {
    FaultyFiles { kind, nth in
      guard kind == .write else { return nil }
      places.note()
      return write(nth)
    }
  }

  @Test func aloneWithAQuickDisk() async throws {
    let places = Places()
    let trial = try await Trial.run(
      content: Self.content, clock: TestClock(jumpsWhenIdle: false), files: files(places)
    ) { _, _ in nil }
    #expect(trial.isFinished)
    // The last buffer goes with the end of the job; below 8 MiB nothing else needs its lane.
    #expect(places.all.count > 40 && places.all.dropLast().allSatisfy { $0 }, "\(places.all)")
  }

  @Test("with a digest, too: what is hashed is what was written") func aloneWithADigest() async throws {
    let places = Places()
    let trial = try await Trial.run(
      digest: Trial.digest(Self.content, count: Self.content.count), content: Self.content,
      clock: TestClock(jumpsWhenIdle: false), files: files(places)
    ) { _, _ in nil }
    #expect(trial.isFinished && places.all.filter { $0 }.count > 30, "\(places.all)")
  }

  @Test func aSlowDiskIsLeftToItsLane() async throws {
    let (places, clock) = (Places(), TestClock(jumpsWhenIdle: false))
    let files = files(places) { nth in
      if nth == 3 { clock.advance(by: .milliseconds(60)) }
      return nil
    }
    let trial = try await Trial.run(content: Self.content, clock: clock, files: files) { _, _ in nil }
    #expect(trial.isFinished)
    #expect(places.all.prefix(3).allSatisfy { $0 }, "\(places.all)")
    #expect(!places.all.dropFirst(3).contains(true), "\(places.all)")
  }

  @Test("two jobs: neither waits for the other's disk") func notBesideOthers() async throws {
    let (places, gate) = (Places(), Latch())
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Self.content)
      $0.resources["/other"] = Resource(Self.content)
      $0.handler = { request, _ in
        if request.path == "/other" { gate.wait() }
        return nil
      }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files(places))
    let events = harness.engine.events
    let results = try await harness.engine.add([
      harness.specification(origin.url("/other"), name: "other"), harness.specification(origin.url(Trial.path)),
    ])
    let (other, id) = (try #require(results[0].job), try #require(results[1].job))
    #expect(try await harness.end(of: id, in: events).isFinished)
    #expect(places.all.count > 40 && !places.all.contains(true), "\(places.all)")
    gate.open()
    #expect(try await harness.end(of: other, in: events).isFinished)
    #expect(places.all.contains(true), "the other one is alone by now")
    await harness.engine.close()
  }

  @Test("a full disk, found in place", arguments: [1, 7, 30]) func failure(nth: Int) async throws {
    let places = Places()
    let files = files(places) { $0 == nth ? .code(28) : nil }
    let trial = try await Trial.run(content: Self.content, files: files) { _, _ in nil }
    #expect(trial.isFinished, "\(trial.end)")
  }

  @Test("short writes", arguments: [1, 4096, 100_000]) func short(most: Int) async throws {
    let places = Places()
    let size = most == 1 ? 100_000 : 6 << 20
    let trial = try await Trial.run(
      content: .pseudoRandom(seed: 3, count: size), files: files(places) { _ in .short(most) }
    ) { _, _ in nil }
    #expect(trial.isFinished)
  }
}
