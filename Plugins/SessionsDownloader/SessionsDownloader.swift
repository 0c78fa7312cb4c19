import BackgroundAssets
import ExtensionFoundation
import os

private let logger = Logger(subsystem: "com.example.sessions.downloader", category: "downloads")
let appGroup = "group.com.example.sessions"

/// Keeps recorded talks on the device: the manifest names them, and whatever isn't in the container is downloaded.
@main
struct SessionsDownloader: BADownloaderExtension {
  func downloads(
    for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
  ) -> Set<BADownload> {
    guard let library = SessionLibrary(appGroup: appGroup) else {
      logger.error("No container for \(appGroup, privacy: .public): is the extension a member of the group?")
      return []
    }
    let sessions: [Session]
    do {
      sessions = try Catalog(contentsOf: manifestURL).sessions
    } catch {
      logger.error("The manifest can't be read: \(error.localizedDescription, privacy: .public)")
      return []
    }
    do { try library.keep(catalog: manifestURL) } catch {
      logger.error("The app will see an old catalog: \(error.localizedDescription, privacy: .public)")
    }
    let missing = sessions.filter { !library.contains($0.id) }
    logger.info("\(missing.count) of \(sessions.count) sessions are missing")
    return Set(missing.compactMap { $0.download(for: request) })
  }

  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    guard type(of: finishedDownload) == BAURLDownload.self, let library = SessionLibrary(appGroup: appGroup) else {
      return
    }
    let identifier = finishedDownload.identifier
    let waiting: URL
    do {
      // The file is deleted when this function returns, and exclusive control may come later than that.
      waiting = try library.rescue(fileURL, as: identifier)
    } catch {
      logger.error("\(identifier, privacy: .public) is lost: \(error.localizedDescription, privacy: .public)")
      return
    }
    // The closure form: unlike a task, it is sure to keep the extension running after this function has returned.
    BADownloadManager.shared.withExclusiveControl { acquiredLock, error in
      guard acquiredLock else {
        logger.error("No exclusive control: \(String(describing: error), privacy: .public)")
        return
      }
      do {
        try library.shelve(waiting, as: identifier)
        logger.notice("\(identifier, privacy: .public) is ready")
      } catch {
        logger.error("\(identifier, privacy: .public) stays out: \(error.localizedDescription, privacy: .public)")
      }
    }
  }

  func backgroundDownload(_ failedDownload: BADownload, failedWithError error: any Error) {
    logger.error("\(failedDownload.identifier, privacy: .public): \(error.localizedDescription, privacy: .public)")
    // The service repeats background downloads by itself. An essential one had its only chance during installation.
    guard type(of: failedDownload) == BAURLDownload.self, failedDownload.isEssential else { return }
    do {
      try BADownloadManager.shared.scheduleDownload(failedDownload.removingEssential())
    } catch {
      logger.error("It can't be repeated: \(error.localizedDescription, privacy: .public)")
    }
  }
}
