import AssetModel
import AssetStore
import Foundation
import LinuxSystem
import ServiceMachines
import ServiceProtocol
import Testing

@testable import AssetService

/// What the log says of a finished download whose author declared a size.
@Suite(.timeLimit(.minutes(2))) struct DeclaredSizeTests {
  @Test(
    "The log of an app names both sizes where a finished download has another one than was declared [B52]",
    arguments: [
      (999, "session, 1000 bytes, where 999 were declared"), (1000, "session, 1000 bytes"),
      (nil, "session, 1000 bytes"),
    ] as [(Int64?, String)])
  func finished(declared: Int64?, line: String) async throws {
    let folder = NSTemporaryDirectory() + "declared-\(UUID().uuidString)"
    defer { Files.removeTree(folder) }
    let paths = ServicePaths(state: folder)
    for folder in [paths.store, paths.groups] { try Files.makeDirectories(folder, mode: 0o700) }
    _ = try Containers(root: paths.groups).open("group.a")
    let service = try AssetService(.init(paths: paths))
    let value = DownloadValue(
      identifier: "session", uniqueIdentifier: UUID().uuidString, url: "https://example.com/session",
      applicationGroupIdentifier: "group.a", fileSize: declared)
    await service.finish(value, size: 1000)
    await service.stop()
    let events = try AssetStore(opening: paths.store).history.events(last: 100)
    #expect(events.filter { $0.kind == "downloaded" }.map(\.detail) == [line])
  }
}

extension AssetService {
  fileprivate func finish(_ value: DownloadValue, size: Int64) async {
    let app = "com.example.a"
    let limits = Restrictions.Limits(allowance: 1 << 30, essentialAllowance: 1 << 30, domains: nil)
    parts.thread.belongs(to: self)
    parts.decider.process(
      .app(app, .placed(version: "1", kind: .install, facts: .init(manifestHost: "example.com", limits: limits))))
    parts.downloads.insert(value, of: app)
    let caller = DownloadRegistry.Caller.app(connection: 1, isActive: true)
    parts.decider.process(.app(app, .schedule(call: 1, download: value.planned, caller: caller)))
    var record = JobRecord(
      id: JobID(1),
      specification: TransferPlan(groups: "/", store: "/").specification(
        app, value, urgency: .background, owner: .app, budget: .other, domains: nil),
      state: .finished, receivedBytes: size, enqueued: StoredMoment(bootIdentifier: "b", boot: 1, wall: 1))
    record.finalSize = size
    await parts.events.ended(app, value.uniqueIdentifier, record)
  }
}
