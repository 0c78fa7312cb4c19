import BackgroundAssets

/// What app authors write in their tests.
final class MockDownload: BAURLDownload, @unchecked Sendable {
  var overriddenState = BADownload.State.finished

  override var state: BADownload.State { overriddenState }
  override var identifier: String { "overridden" }
  override var isEssential: Bool { false }
  override var priority: BADownload.Priority { .max }
}

/// As Xcode writes the initialiser.
final class StrictMock: BAURLDownload, @unchecked Sendable {
  let label: String

  init(label: String) {
    self.label = label
    super.init(
      identifier: label, request: URLRequest(url: URL(string: "https://e.com/a")!), essential: true, fileSize: 3,
      applicationGroupIdentifier: "group", priority: .default)
  }

  required init?(coder: NSCoder) { nil }
}

final class ArchivedDouble: BADownload, @unchecked Sendable {}

final class MockManager: BADownloadManager, @unchecked Sendable {
  private(set) var scheduled: [BADownload] = []
  private(set) var turns = 0

  override func scheduleDownload(_ download: BADownload) throws { scheduled.append(download) }
  override func startForegroundDownload(_ download: BADownload) throws { scheduled.append(download) }
  override func cancel(_ download: BADownload) throws { scheduled.removeAll { $0 == download } }
  override func fetchCurrentDownloads() throws -> [BADownload] { scheduled }
  override var currentDownloads: [BADownload] { get async throws { scheduled } }

  @available(*, deprecated)
  override func withExclusiveControl(_ performHandler: @escaping (Bool, (any Error)?) -> Void) {
    turns += 1
    performHandler(true, nil)
  }
}
