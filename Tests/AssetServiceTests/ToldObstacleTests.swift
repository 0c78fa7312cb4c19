import AssetModel
import AssetStore
import Foundation
import GRDB
import LinuxSystem
import Logging
import ServiceMachines
import ServiceProtocol
import TestSupport
import Testing

@testable import AssetService

/// What can't be done is told with its reason.
@Suite(.timeLimit(.minutes(2))) struct ToldObstacleTests {
  @Test("An allowance that can't be written down stays as it was, and the log of its app says why")
  func allowance() async throws {
    let scene = try EndedTransfer()
    defer { Files.removeTree(scene.folder) }
    let database = try DatabaseQueue(path: "\(scene.paths.store)/\(AssetStore.databaseName)")
    try await database.write { database in
      try database.execute(
        sql: "CREATE TRIGGER refusal BEFORE INSERT ON budgets BEGIN SELECT RAISE(ABORT, 'injected'); END")
    }
    await scene.service.allow(5)
    let details = try await database.read {
      try String.fetchAll($0, sql: "SELECT CAST(detail AS TEXT) FROM events WHERE kind = 'allowance'")
    }
    #expect(
      details.count == 1 && details[0].contains("\(EndedTransfer.app)/other stays as it was: ")
        && details[0].contains("injected"), "\(details)")
    try database.close()
    await scene.service.stop()
  }

  @Test("An event that can't be written down is in the log with its reason") func event() async throws {
    let log = RecordedLog()
    let scene = try EndedTransfer(logger: log.logger)
    defer { Files.removeTree(scene.folder) }
    let database = try DatabaseQueue(path: "\(scene.paths.store)/\(AssetStore.databaseName)")
    try await database.write { database in
      try database.execute(
        sql: "CREATE TRIGGER refusal BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'injected'); END")
    }
    try database.close()
    await scene.service.say("something")
    #expect(log.all.contains { $0.hasPrefix("error something isn't in the journal: ") && $0.contains("injected") })
    await scene.service.stop()
  }

  @Test("A download whose container can't be opened fails with the reason") func container() async throws {
    let log = RecordedLog()
    let scene = try EndedTransfer(logger: log.logger)
    defer { Files.removeTree(scene.folder) }
    Files.removeTree("\(scene.paths.groups)/group.a")
    try Data().write(to: URL(fileURLWithPath: "\(scene.paths.groups)/group.a"))
    let value = EndedTransfer.value(fileSize: 100)
    await scene.service.schedule(value, limits: .init(allowance: 1000, essentialAllowance: 1000, domains: nil))
    var message = ""
    #expect(
      try await eventually {
        message = await scene.service.failure(of: value) ?? ""
        return !message.isEmpty
      })
    #expect(message.contains("the container of group.a can't be opened: ") && message.contains("isn't a directory"))
    #expect(await scene.service.containers(of: ["group.a"]).isEmpty)
    #expect(
      log.all.contains {
        $0.hasPrefix("error the container of group.a can't be opened: ") && $0.contains("isn't a directory")
      })
    await scene.service.stop()
  }
}

extension AssetService {
  fileprivate func allow(_ bytes: Int64) async {
    await parts.executor.perform([.setBudget(app: EndedTransfer.app, budget: .other, allowed: bytes)])
  }

  fileprivate func say(_ event: String) { parts.news.log(nil, event, "") }

  fileprivate func failure(of value: DownloadValue) -> String? {
    parts.downloads[EndedTransfer.app]?[value.uniqueIdentifier]?.failure?.message
  }

  fileprivate func containers(of groups: [String]) -> [String: String] { parts.catalog.containers(of: groups) }
}
