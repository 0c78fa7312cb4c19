import Basics
import Foundation
import TestSupport
import Testing

/// As Tests/kill-rounds gives them; without it none of these tests is run.
enum KillOptions {
  static let rounds = number("OUTRIDER_KILL_ROUNDS") ?? 0
  static let seed = UInt64(number("OUTRIDER_SEED") ?? 20_261_122)
  static let everyCommit = number("OUTRIDER_EVERY_COMMIT") != nil
  static let minutes = 600

  private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }
}

/// `kill -9` of service, app, runner and fork server at random instants; Tests/kill-rounds runs as many rounds as wanted.
@Suite(.ownThreads, .timeLimit(.minutes(KillOptions.minutes))) struct KillRoundTests {
  /// Of one service; then another one begins with an empty state folder, and the next seed.
  private static let roundsOfScene = 20

  @Test(
    "Killed at random instants, no app loses a callback, gets one twice or keeps a gate closed, and no file is spliced",
    .enabled(if: KillOptions.rounds > 0, "Tests/kill-rounds runs it"))
  func killRounds() async throws {
    var left = KillOptions.rounds
    var seed = KillOptions.seed
    while left > 0 {
      var random = SeededGenerator(seed: seed)
      let scene = try KillScene()
      try scene.world.start()
      do {
        for number in 1...min(left, Self.roundsOfScene) {
          let round = KillRound(number, using: &random)
          do { try await scene.run(round) } catch {
            throw ServiceWorld.Trouble(description: "\(round)\n\(error)")
          }
        }
        try scene.checkStore()
      } catch {
        Issue.record("seed \(seed), \(error)")
      }
      left -= Self.roundsOfScene
      seed += 1
      if KillOptions.rounds > 50 { print("\(max(0, left)) rounds left") }
    }
  }
}
