import Foundation
import TestSupport
import Testing

/// Killed at a commit of the journal, during an installation or an update: the next service goes on as if nothing had been.
@Suite(.ownThreads, .timeLimit(.minutes(KillOptions.minutes))) struct CommitKillTests {
  @Test(
    "Killed at any commit of the journal, an installation goes on: everything is delivered once and nothing is left",
    .enabled(if: KillOptions.everyCommit, "Tests/kill-rounds --every-commit runs it"), arguments: [false, true])
  func killed(isUpdate: Bool) async throws {
    let all = try await attempt(0, isUpdate)
    try #require(all > 20, "there is something to kill")
    for number in 1...all {
      do { _ = try await attempt(number, isUpdate) } catch {
        Issue.record("\(isUpdate ? "update" : "installation"), place \(number) of \(all)\n\(error)")
      }
    }
  }

  /// Returns how many places there were.
  private func attempt(_ number: Int, _ isUpdate: Bool) async throws -> Int {
    let scene = try KillScene()
    var first = KillRound(1, .install, ["e1": 30_000, "e2": 10, "t1": 50_000, "t2": 1])
    if isUpdate {
      try scene.world.start()
      try await scene.run(first)
      _ = try scene.world.terminate()
      first = KillRound(2, .update, ["e3": 30_000, "t3": 50_000])
    }
    let counter = scene.world.folder + "/commits"
    // It may be killed before it listens.
    try? scene.world.start(environment: CommitKiller.environment(killAt: number, counter: counter))
    scene.isRevived = true
    try await scene.run(first)
    scene.isRevived = false
    try scene.checkStore()
    return try FileManager.default.attributesOfItem(atPath: counter)[.size] as? Int ?? 0
  }
}
