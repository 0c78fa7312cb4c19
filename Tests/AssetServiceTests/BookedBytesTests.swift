import AssetModel
import AssetStore
import Foundation
import LinuxSystem
import ServiceMachines
import ServiceProtocol
import Testing

@testable import AssetService

/// What a download used of an allowance, where its transfer was over before it said how far it was.
@Suite(.timeLimit(.minutes(2))) struct BookedBytesTests {
  fileprivate static let app = "com.example.a"

  @Test(
    "A transfer that ends without a word of its progress has used what the journal was charged with [B61, B64]",
    arguments: [
      JobState.finished, .cancelled, .failed(TransferFailure(.refused, detail: "no")),
    ])
  func ended(state: JobState) async throws {
    let folder = NSTemporaryDirectory() + "booked-\(UUID().uuidString)"
    let paths = ServicePaths(state: folder)
    for folder in [paths.store, paths.groups] { try Files.makeDirectories(folder, mode: 0o700) }
    _ = try Containers(root: paths.groups).open("group.a")
    let service = try AssetService(.init(paths: paths))
    let value = DownloadValue(
      identifier: "session", uniqueIdentifier: UUID().uuidString, url: "https://example.com/session",
      applicationGroupIdentifier: "group.a", fileSize: 900_000)
    let used = await service.used(by: value, endingIn: state, receiving: 900_400)
    #expect(used.before == 900_000, "reserved")
    #expect(used.after == 900_400)
    await service.stop()
    Files.removeTree(folder)
  }
}

extension AssetService {
  /// Of `BADownloadAllowance`, while it is reserved and when its transfer is over.
  fileprivate func used(
    by value: DownloadValue, endingIn state: JobState, receiving bytes: Int64
  ) async -> (before: Int64?, after: Int64?) {
    let app = BookedBytesTests.app
    let limits = Restrictions.Limits(allowance: 1_000_000, essentialAllowance: 2 << 20, domains: nil)
    let facts = AppMachines.Facts(manifestHost: "example.com", limits: limits)
    parts.thread.belongs(to: self)
    parts.decider.process(.app(app, .placed(version: "1", kind: .install, facts: facts)))
    parts.downloads.insert(value, of: app)
    let caller = DownloadRegistry.Caller.app(connection: 1, isActive: true)
    parts.decider.process(.app(app, .schedule(call: 1, download: value.planned, caller: caller)))
    let before = parts.decider.core.apps[app]?.restrictions.used(.other)
    let plan = TransferPlan(groups: "/", store: "/")
    let moment = StoredMoment(bootIdentifier: "b", boot: 1, wall: 1)
    var record = JobRecord(
      id: JobID(1),
      specification: plan.specification(
        app, value, urgency: .background, owner: .app, budget: .other, domains: nil),
      state: state, receivedBytes: bytes, enqueued: moment)
    record.finalSize = state == .finished ? value.fileSize : nil
    await parts.events.ended(app, value.uniqueIdentifier, record)
    return (before, parts.decider.core.apps[app]?.restrictions.used(.other))
  }
}
