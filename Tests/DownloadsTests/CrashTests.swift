import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

/// F-41 and F-43: killed at every write, synchronisation, rename and commit of a fetch; the next run has to end well.
@Suite(.timeLimit(.minutes(10))) struct CrashTests {
  /// More than the 8 MiB from which a file's place is reserved and written back on the way, and a checkpoint is due.
  static let content = Content.pseudoRandom(seed: 8, count: (17 << 19) + 5)
  private static let whole = Data(content.bytes)
  /// The operations are shared out among so many cases, which run side by side.
  private static let strides = 4

  @Test(
    "F-41 F-43 killed at every operation that leaves a trace", arguments: ["before", "after"], 1...strides)
  func everywhere(manner: String, first: Int) async throws {
    let origin = try Origin { $0.resources["/file"] = Resource(Self.content) }
    defer { origin.stop() }
    var number = first
    while try await Self.interrupt([number], origin, manner) == 1 { number += Self.strides }
    #expect(number > 30, "there was something to kill")
  }

  /// Recovering is a run like any other, of which nothing is left but what the one before it left: so the second is
  /// killed at each of its operations as well, after a first one that ended in the middle, or with all of it there.
  @Test("F-41 F-43 killed again at every operation of the recovery", arguments: Stage.allCases, 1...strides)
  func recovery(stage: Stage, start: Int) async throws {
    let origin = try Origin { $0.resources["/file"] = Resource(Self.content) }
    defer { origin.stop() }
    let all = try await Self.operations.value
    let first =
      switch stage {
      case .received: all / 2
      case .whole: all - 6
      case .named: all - 1
      }
    var number = start
    while true {
      let kills = try await Self.interrupt([first, number], origin, "after")
      try #require(kills >= 1, "\(stage), operation \(first) of \(all)")
      guard kills == 2 else { break }
      number += Self.strides
    }
    #expect(number > 8, "there was something to kill")
  }

  enum Stage: CaseIterable, Sendable { case received, whole, named }

  /// How many a run has.
  private static let operations = Task {
    let origin = try Origin { $0.resources["/file"] = Resource(content) }
    defer { origin.stop() }
    var number = 0
    repeat { number += 8 } while try await interrupt([number], origin, "after") == 1
    repeat { number -= 1 } while try await interrupt([number], origin, "after") == 0
    return number
  }

  /// Kills a run after the other at these of their operations, and checks what the one after them leaves. How many were
  /// killed.
  private static func interrupt(_ numbers: [Int], _ origin: Origin, _ manner: String) async throws -> Int {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-crash-")
    defer { Files.removeTree(folder) }
    try FileManager.default.createDirectory(
      atPath: "\(folder)/state", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let what = "operations \(numbers), \(manner)"
    var kills = 0
    // The last one isn't interrupted.
    for number in numbers + [0] {
      let ended = try await ChildProcess.run(
        "\(ChildProcess.products)/interrupted-fetch", [folder, origin.url("/file"), "\(number)", manner],
        log: "\(folder)/log")
      let wasKilled = ended.wasKilled
      #expect(wasKilled || ended.status == 0, "\(what): \(ended.output)")
      let there = FileManager.default.contents(atPath: "\(folder)/file")
      #expect(there == whole || wasKilled && there == nil, "never half a file at its place, \(what)")
      if wasKilled { kills += 1 }
    }
    let staged = try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/.outrider")
    #expect(staged.allSatisfy { !$0.contains("/") }, "nothing is left behind, \(what): \(staged)")
    let store = try AssetStore(opening: "\(folder)/state")
    #expect(try store.deliveries.pending().count == 1, "one callback, \(what)")
    #expect(try store.job(JobID(2)) == nil)
    try store.close()
    return kills
  }
}
