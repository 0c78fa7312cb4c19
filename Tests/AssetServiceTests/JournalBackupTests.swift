import AssetStore
import Foundation
import GRDB
import LinuxSystem
import ServiceMachines
import ServiceProtocol
import TestSupport
import Testing

@testable import AssetService

/// What a service that runs for months leaves where its journal is damaged.
@Suite(.timeLimit(.minutes(2))) struct JournalBackupTests {
  private static func backup(of paths: ServicePaths) -> String { "\(paths.store)/\(AssetStore.databaseName).backup" }

  @Test("F-42 the journal of a running service is backed up when nothing is under way, with what happened last")
  func quiet() async throws {
    let scene = try EndedTransfer()
    defer { Files.removeTree(scene.folder) }
    let backup = Self.backup(of: scene.paths)
    await scene.service.setBackups(.init(interval: .milliseconds(10), again: .milliseconds(10)), after: "something")
    #expect(!Files.exists(backup))
    await scene.service.start()
    #expect(try await eventually { Files.exists(backup) })
    let copy = try DatabaseQueue(path: backup)
    #expect(
      try await copy.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM events WHERE kind = 'something'") } == 1)
    try copy.close()
    await scene.service.stop()
  }

  @Test("While an app is installed no backup is made, but for a change that waits for it since yesterday")
  func busy() async throws {
    let scene = try EndedTransfer()
    defer { Files.removeTree(scene.folder) }
    let backup = Self.backup(of: scene.paths)
    await scene.service.setBackups(.init(interval: .milliseconds(1), again: .milliseconds(1)))
    // It isn't started, so that nothing of this is asked of any server.
    await scene.service.schedule(
      EndedTransfer.value(fileSize: 100), limits: .init(allowance: 0, essentialAllowance: 0, domains: nil))
    try await Task.sleep(for: .milliseconds(300))
    #expect(!Files.exists(backup))
    await scene.service.setBackups(.init(interval: .milliseconds(1), again: .milliseconds(1), longest: .zero))
    #expect(try await eventually { Files.exists(backup) })
    await scene.service.stop()
  }
}

extension AssetService {
  fileprivate func setBackups(_ pace: JournalBackups.Pace, after event: String? = nil) {
    backups.pace = pace
    if let event { parts.news.log(nil, event, "") }
  }
}
