import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// F-68: descriptors and memory that run out.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ScarceResourceFaultTests {
  @Test("F-68 no file is opened per buffer") func opens() async throws {
    var counts: [Int] = []
    for count in [100_000, (24 << 20) + 1] {
      let content = Content.pseudoRandom(seed: 4, count: count)
      let files = FaultyFiles { _, _ in nil }
      let trial = try await Trial.run(
        digest: Trial.digest(content, count: count), content: content, files: files
      ) { _, _ in nil }
      #expect(trial.isFinished && files.count(.write) >= count >> 20)
      counts.append(files.count(.open))
    }
    #expect(counts[0] == counts[1] && counts[0] <= 4, "\(counts)")
  }

  @Test("F-68 the fourth file can't be opened: no attempt failed, and it goes on when there are descriptors")
  func injected() async throws {
    for nth in 1...3 {
      let clock = TestClock()
      let trial = try await Trial.run(digest: Trial.digest, clock: clock, files: FaultyFiles(.open, nth, EMFILE)) {
        _, nth in nth == 1 ? .half : nil
      }
      #expect(trial.isFinished && trial.record.history.fruitlessAttempts <= 1, "open \(nth): \(trial.end)")
    }
  }

  @Test("F-68 descriptors run out for real, and come back: everything is fetched, nothing failed") func starved() throws
  {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-starved-")
    defer { Files.removeTree(folder) }
    try Files.makeDirectories("\(folder)/state", mode: 0o700)
    try Files.makeDirectories("\(folder)/files", mode: 0o700)
    let origins = try (0..<3).map { _ in try Origin { $0.resources[Trial.path] = Resource(Trial.content) } }
    defer { for origin in origins { origin.stop() } }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "starved-fetch")
    process.arguments = [folder] + (0..<12).map { origins[$0 % 3].url(Trial.path) }
    let output = Pipe.own()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && process.terminationReason == .exit, "\(text)")
    for number in 0..<12 {
      #expect(FileManager.default.contents(atPath: "\(folder)/files/\(number)") == Trial.bytes, "\(number)")
    }
  }

  @Test("F-68 sixteen transfers and a disk that stands still: memory stays within its budget") func memory()
    async throws
  {
    let count = 6 << 20
    let latch = Latch()
    let files = FaultyFiles { kind, _ in
      if kind == .write { latch.wait() }
      return nil
    }
    let content = Content.pseudoRandom(seed: 6, count: count)
    let origins = try (0..<3).map { _ in try Origin { $0.resources[Trial.path] = Resource(content) } }
    defer { for origin in origins { origin.stop() } }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    let ids = try await harness.engine.add(
      (0..<16).map {
        // Large ones leave a slot to one that says it is small.
        harness.specification(origins[$0 % 3].url(Trial.path), name: "\($0)", size: $0 == 0 ? 1 : Int64(count))
      }
    ).compactMap(\.job)
    func received() async -> [Int64] {
      var all: [Int64] = []
      for id in ids { all.append(await harness.engine.progress(of: id)?.received ?? 0) }
      return all
    }
    // Everyone has a buffer that can't be written; then nothing moves for a long while.
    var before: [Int64] = []
    var calm = 0
    while calm < 200 {
      let now = await received()
      calm = now == before && now.allSatisfy { $0 >= Int64(BufferPool.bufferSize) } ? calm + 1 : 0
      before = now
      try await Task.sleep(for: .milliseconds(2))
    }
    let held = before.reduce(0, +)
    // One buffer more for each that holds none was let in, and what the socket gave with it.
    #expect(held <= Int64(BufferPool.budget) + 16 * Int64(BufferPool.bufferSize + (64 << 10)), "\(held)")
    latch.open()
    var finished = 0
    for await event in events {
      if case .failed(_, let failure) = event { Issue.record("\(failure)") }
      if case .finished = event { finished += 1 }
      if finished == 16 { break }
    }
    for number in 0..<16 { #expect(harness.contents("\(number)") == Data(content.bytes), "\(number)") }
    await harness.engine.close()
  }
}
