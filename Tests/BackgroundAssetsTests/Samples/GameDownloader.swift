// Written as for Apple platforms; only @main is missing, because a module has but one.
import BackgroundAssets
import ExtensionFoundation
import os

private let logger = Logger(subsystem: "com.example.game.downloader", category: "downloader")

struct BackgroundDownloadHandler: BADownloaderExtension {
  static let groupIdentifier = "group.com.example.game"

  struct Asset: Codable, Hashable {
    var name: String
    var url: URL
    var size: Int
    var essential: Bool
  }

  func downloads(
    for request: BAContentRequest,
    manifestURL: URL,
    extensionInfo: BAAppExtensionInfo
  ) -> Set<BADownload> {
    var downloads = Set<BADownload>()
    guard let data = try? Data(contentsOf: manifestURL),
      let assets = try? JSONDecoder().decode([Asset].self, from: data)
    else {
      logger.error("Unable to read manifest at \(manifestURL, privacy: .public)")
      return []
    }
    let essentialsAllowed: Bool
    switch request {
    case .install, .update:
      essentialsAllowed = true
    case .periodic:
      essentialsAllowed = false
    default:
      essentialsAllowed = false
    }
    if let remaining = extensionInfo.restrictedDownloadSizeRemaining {
      logger.debug(
        "Remaining: \(remaining) of \(extensionInfo.restrictedEssentialDownloadSizeRemaining ?? 0, format: .decimal)")
    }
    for asset in assets {
      var urlRequest = URLRequest(url: asset.url)
      urlRequest.setValue("game", forHTTPHeaderField: "X-Client")
      let download = BAURLDownload(
        identifier: asset.name,
        request: urlRequest,
        essential: essentialsAllowed && asset.essential,
        fileSize: asset.size,
        applicationGroupIdentifier: Self.groupIdentifier,
        priority: asset.essential ? .max : .default)
      downloads.insert(download)
    }
    return downloads
  }

  func backgroundDownload(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    if challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
      let trust = challenge.protectionSpace.serverTrust
    {
      return (.useCredential, URLCredential(trust: trust))
    }
    guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic else {
      return (.performDefaultHandling, nil)
    }
    let credential = URLCredential(user: "player", password: "secret", persistence: .none)
    return (.useCredential, credential)
  }

  func backgroundDownload(_ failedDownload: BADownload, failedWithError error: Error) {
    guard type(of: failedDownload) == BAURLDownload.self else {
      logger.warning("Download of unsupported type failed: \(failedDownload.identifier). \(error)")
      return
    }
    let nsError = error as NSError
    if nsError.domain == BAErrorDomain, nsError.code == BAErrorCode.sessionDownloadAllowanceExceeded.rawValue {
      logger.error("Allowance exceeded: \(error.localizedDescription, privacy: .public)")
    }
    if failedDownload.isEssential {
      do {
        try BADownloadManager.shared.scheduleDownload(failedDownload.removingEssential())
      } catch {
        logger.error("Failed to reschedule \(failedDownload.identifier, privacy: .private(mask: .hash)): \(error)")
      }
    }
  }

  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    let manager = FileManager.default
    guard let container = manager.containerURL(forSecurityApplicationGroupIdentifier: Self.groupIdentifier) else {
      return
    }
    BADownloadManager.shared.withExclusiveControl { acquiredLock, error in
      guard acquiredLock else {
        logger.warning("Failed to acquire lock: \(String(describing: error))")
        return
      }
      do {
        let target = container.appending(path: finishedDownload.identifier)
        _ = try? manager.removeItem(at: target)
        try manager.moveItem(at: fileURL, to: target)
      } catch {
        logger.error("\(error)")
      }
    }
  }

  func extensionWillTerminate() {
    logger.info("terminating")
  }
}
