import AssetModel
import AssetStore
import Foundation
import LinuxSystem
import Logging
import ServiceMachines
import ServiceProtocol

@testable import AssetService

/// A service with one app, of whose only download the engine says that it has ended.
struct EndedTransfer {
  static let app = "com.example.a"
  let folder = NSTemporaryDirectory() + "ended-\(UUID().uuidString)"
  let paths: ServicePaths
  let service: AssetService

  init(logger: Logger? = nil) throws {
    paths = ServicePaths(state: folder)
    for folder in [paths.store, paths.groups] { try Files.makeDirectories(folder, mode: 0o700) }
    try Containers(root: paths.groups).prepare("group.a")
    var configuration = AssetService.Configuration(paths: paths)
    if let logger { configuration.logger = logger }
    service = try AssetService(configuration)
  }

  static func value(fileSize: Int64?) -> DownloadValue {
    DownloadValue(
      identifier: "session", uniqueIdentifier: UUID().uuidString, url: "https://example.com/session",
      applicationGroupIdentifier: "group.a", fileSize: fileSize)
  }
}

extension AssetService {
  /// The app is there, and has scheduled it.
  func schedule(_ value: DownloadValue, limits: Restrictions.Limits) {
    let app = EndedTransfer.app
    parts.thread.belongs(to: self)
    let facts = AppMachines.Facts(manifestHost: "example.com", limits: limits)
    parts.decider.process(.app(app, .placed(version: "1", kind: .install, facts: facts)))
    parts.downloads.insert(value, of: app)
    let caller = DownloadRegistry.Caller.app(connection: 1, isActive: true)
    parts.decider.process(.app(app, .schedule(call: 1, download: value.planned, caller: caller)))
  }

  /// `size`: of the file, where it has come.
  func end(_ value: DownloadValue, in state: JobState, receiving bytes: Int64, size: Int64?) async {
    let app = EndedTransfer.app
    var record = JobRecord(
      id: JobID(1),
      specification: TransferPlan(groups: "/", store: "/").specification(
        app, value, urgency: .background, owner: .app, budget: .other, domains: nil),
      state: state, receivedBytes: bytes, enqueued: StoredMoment(bootIdentifier: "b", boot: 1, wall: 1))
    record.finalSize = size
    await parts.events.ended(app, value.uniqueIdentifier, record)
  }
}
