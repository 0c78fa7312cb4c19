import BackgroundAssets
import os.log

enum AssetError: LocalizedError {
  case missing(String)
  var errorDescription: String? {
    switch self {
    case .missing(let n): return "missing \(n)"
    }
  }
}
@main struct OldLogging: BADownloaderExtension {
  private static var log: OSLog { OSLog(subsystem: "x", category: "y") }
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    os_log("%{public}s %{private}@ %d%%", log: Self.log, type: .default, "text", "secret" as NSString, 5)
    os_log("plain")
    os_log(.debug, "interpolated \(request.rawValue)")
    os_log("log with %@", AssetError.missing("a").localizedDescription)
    os_signpost(.begin, log: Self.log, name: "downloads")
    defer { os_signpost(.end, log: Self.log, name: "downloads") }
    do { throw AssetError.missing("x") } catch {
      os_log("%{public}@", log: Self.log, type: .error, String(describing: error))
    }
    do {
      try BADownloadManager.shared.scheduleDownload(
        BAURLDownload(
          identifier: "1", request: URLRequest(url: manifestURL), fileSize: 1, applicationGroupIdentifier: "g"))
    } catch let error as NSError
      where error.domain == BAErrorDomain && error.code == BAErrorCode.callFromExtensionNotAllowed.rawValue
    {
      os_log("refused", type: .info)
    } catch { fatalError("\(error)") }
    return []
  }
}
