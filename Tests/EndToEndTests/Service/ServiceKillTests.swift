import Basics
import DevelopmentOrigin
import Foundation
import ServiceProtocol
import TestSupport
import Testing

/// `kill -9` of the service at random instants, from a seed; `OUTRIDER_KILLS` says how many rounds, 6 otherwise.
@Suite(.ownThreads, .timeLimit(.minutes(10))) struct ServiceKillTests {
  static let rounds = ProcessInfo.processInfo.environment["OUTRIDER_KILLS"].flatMap { Int($0) } ?? 6
  static let seed = ProcessInfo.processInfo.environment["OUTRIDER_SEED"].flatMap { UInt64($0) } ?? 20_261_122

  /// At most three in one installation: a content request during which the service died four times isn't asked again.
  @Test(
    "Killed at random instants of an installation, the service loses nothing: the gate opens, everything is delivered once"
  )
  func installation() async throws {
    var random = SeededGenerator(seed: Self.seed)
    for round in 1...Self.rounds {
      let sessions = ["e1": 400_000, "e2": 3, "t1": 900_000, "t2": 70_000]
      let world = try ServiceWorld { $0.bytesPerSecond = 3_000_000 }
      world.publish(sessions)
      try world.start()
      _ = try await world.install(world.bundle())
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...500, using: &random)))
        world.kill()
        try world.start()
      }
      do {
        try await world.waitUntilOpen()
        try await world.waitUntilShelved(sessions)
        try await world.wait("nothing is left over") { try await world.downloads().isEmpty }
      } catch {
        Issue.record(
          "round \(round) of seed \(Self.seed): \(error)\n\(world.isRunning ? "" : "the service has ended\n")\(world.log.suffix(3000))"
        )
        throw error
      }
      let lease = "\(world.paths.groups)/\(ServiceWorld.group)/lease"
      let left = try FileManager.default.contentsOfDirectory(atPath: lease).filter { !$0.hasPrefix(".") }
      #expect(left.isEmpty, "round \(round) of seed \(Self.seed): \(left)")
    }
  }
}
