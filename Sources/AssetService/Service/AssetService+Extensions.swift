internal import AssetModel
internal import ServiceProtocol

/// What runs of extensions say and ask, from their own tasks.
extension AssetService {
  func extensionSays(_ news: ExtensionRun.News, run: Int64) { parts.runs.received(run, news) }

  func schedule(_ download: Download, of app: String, run: Int64) async -> Int32 {
    await parts.requests.schedule(download, of: app, run: run)
  }

  func cancel(_ identifier: String, of app: String, run: Int64) async -> Int32 {
    await parts.requests.cancel(identifier, of: app, run: run)
  }

  func currentDownloads(of app: String) -> [DownloadValue] { parts.downloads.current(of: app) }

  func acquireControl(of app: String, run: Int64, timeout: Duration?) async -> Int32 {
    await parts.requests.acquireControl(of: app, run: run, timeout: timeout)
  }

  func releaseControl(of app: String, run: Int64) { parts.requests.releaseControl(of: app, run: run) }

  func observe(_ isObserving: Bool, app: String, run: Int64) {
    parts.runs.observe(isObserving, app: app, run: run)
  }
}
