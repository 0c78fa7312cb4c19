import AssetModel
import AssetStore
import Foundation
import TestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(1))) struct KillTests {
  /// Killed at a random moment, again and again, on one folder: what was said to be committed is there.
  @Test func whatWasAcknowledgedSurvivesKill9() throws {
    let folder = try AssetStoreTests.Folder()
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(path: "store-writer")
    let seed = UInt64.random(in: 0 ... .max)
    var state = seed
    var acknowledged: Int64 = 0
    for round in 0..<15 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let process = TestProcess()
      process.executableURL = program
      process.arguments = [folder.path, "\(acknowledged + Int64(round) * 1_000_000)"]
      let output = Pipe.own()
      process.standardOutput = output
      try process.run()
      let wanted = Int((state >> 33) % 40) + 1
      var text = Data()
      while text.count(where: { $0 == 10 }) < wanted {
        let more = output.fileHandleForReading.availableData
        if more.isEmpty { break }
        text += more
      }
      usleep(UInt32((state >> 40) % 3000))
      kill(process.processIdentifier, SIGKILL)
      text += output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { Int64($0) }
      let last = try #require(lines.last, "seed \(seed), round \(round)")
      let store = try AssetStore(opening: folder.path)
      #expect(store.recovery.diedBefore == process.processIdentifier && store.recovery.wasChecked)
      let pending = Set(try store.deliveries.pending())
      for id in lines {
        let job = try #require(try store.job(JobID(id)), "seed \(seed), round \(round), job \(id)")
        #expect(job.state.isTerminal)
        #expect(pending.contains(job.id) == (job.state == .finished), "seed \(seed)")
      }
      acknowledged = last
      try store.close()
    }
    #expect(acknowledged > 15)
  }
}
