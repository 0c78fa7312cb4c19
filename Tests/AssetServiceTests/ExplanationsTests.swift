import AssetModel
import Foundation
import LinuxSystem
import ServiceMachines
import ServiceProtocol
import Testing

@testable import AssetService
@testable import Downloads

/// Why an app can't be launched yet.
@Suite(.timeLimit(.minutes(2))) struct ExplanationsTests {
  fileprivate static let app = "com.example.a"

  @Test("An app whose manifest waits for room says so, and how much is to be freed")
  func fullDisk() async throws {
    let folder = NSTemporaryDirectory() + "explained-\(UUID().uuidString)"
    let paths = ServicePaths(state: folder)
    for folder in [paths.store, paths.groups] { try Files.makeDirectories(folder, mode: 0o700) }
    let service = try AssetService(.init(paths: paths))
    let before = try await service.explained(waiting: nil)
    #expect(before.code == "manifest" && before.remedy.hasPrefix("nothing has to be done"))
    let shortage = SpaceShortage(
      directory: "/srv", device: 1, need: (3 << 20) + 100, free: 100, floor: 0, purgeUntil: 0)
    let explanation = try await service.explained(waiting: Explanation(.disk(shortage)))
    #expect(explanation.code == "disk" && explanation.data["download"] == "\(Self.app).manifest")
    #expect(explanation.message == "its manifest is being downloaded: \(Self.app).manifest waits (disk)")
    #expect(explanation.remedy == "free 3 MiB on the volume")
    let queued = try await service.explained(waiting: Explanation(.queued, remedy: "its turn"))
    #expect(queued.code == "manifest")
    await service.stop()
    Files.removeTree(folder)
  }

  @Test(
    arguments: [
      (1, "1 MiB"), (1 << 20, "1 MiB"), ((1 << 20) + 1, "2 MiB"), (.max, "8796093022208 MiB"), (0, "0 bytes"),
    ] as [(Int64, String)])
  func mebibytes(bytes: Int64, expected: String) { #expect(Words.mebibytes(bytes) == expected) }

  @Test("How much is to be freed is said in one unit, whatever else the sentence has") func remedies() {
    var shortage = SpaceShortage(
      directory: "/srv", device: 1, need: 5, free: 100, floor: 0, purgeUntil: 0)
    shortage.backgroundFloor = 200 << 20
    #expect(
      Words.remedy(Explanation(.disk(shortage)))
        == "free 200 MiB on the volume, or start it in the foreground: in the background none starts while less than 200 MiB are free"
    )
    shortage.lacksInodes = true
    #expect(Words.remedy(Explanation(.disk(shortage))) == "delete some files of the volume, however small")
    #expect(Words.remedy(Explanation(.queued, remedy: "5 bytes")) == "5 bytes")
  }
}

extension AssetService {
  fileprivate func explained(waiting explanation: Explanation?) async throws -> ExplanationSummary {
    let app = ExplanationsTests.app
    parts.thread.belongs(to: self)
    if parts.decider.core.apps[app] == nil {
      let limits = Restrictions.Limits(allowance: 1 << 30, essentialAllowance: 1 << 30, domains: nil)
      let facts = AppMachines.Facts(manifestHost: "example.com", limits: limits)
      parts.decider.process(.app(app, .placed(version: "1", kind: .install, facts: facts)))
    }
    let unique = try #require(parts.decider.core.apps[app]?.manifests.values.first)
    parts.downloads.insert(
      DownloadValue(
        identifier: "\(app).manifest", uniqueIdentifier: unique, url: "https://example.com/m",
        applicationGroupIdentifier: "", fileSize: nil, isManifest: true), of: app)
    parts.downloads.change(app, unique) { $0.waiting = explanation.map { TransferWait($0) } }
    guard case .success(.explanation(let summary)) = await parts.operators.perform(.explain(subject: app), for: nil)
    else { throw ServiceFailure.command(70, "no explanation") }
    return summary
  }
}
