import BackgroundAssets
import OSLog

@main
struct AsynchronousControl: BADownloaderExtension {
  let logger = Logger()
  let group = "group.com.example.client"

  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    guard request != .periodic else { return [] }
    return [
      BAURLDownload(
        identifier: "a", request: URLRequest(url: URL(string: "https://cdn.example.com/a")!), essential: true,
        fileSize: 1, applicationGroupIdentifier: group, priority: .max),
      BAURLDownload(
        identifier: "b", request: URLRequest(url: URL(string: "https://cdn.example.com/b")!), essential: false,
        fileSize: 2, applicationGroupIdentifier: group, priority: .min),
    ]
  }

  func backgroundDownload(_ failedDownload: BADownload, failedWithError error: any Error) {
    let error = error as NSError
    switch (error.domain, error.code) {
    case (BAErrorDomain, BAErrorCode.downloadWouldExceedAllowance.rawValue),
      (BAErrorDomain, BAErrorCode.sessionDownloadAllowanceExceeded.rawValue):
      logger.error("allowance")
    case (NSURLErrorDomain, NSURLErrorNotConnectedToInternet), (NSURLErrorDomain, NSURLErrorTimedOut):
      logger.error("network")
    case (NSURLErrorDomain, URLError.badServerResponse.rawValue):
      logger.error("server")
    default:
      logger.error("other \(error)")
    }
    if let code = BAErrorCode(rawValue: error.code), error.domain == BAErrorDomain {
      logger.error("code \(code.rawValue) \(String(describing: code))")
    }
  }

  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    guard let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group) else { return }
    let temporary = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    do { try FileManager.default.moveItem(at: fileURL, to: temporary) } catch {
      return logger.error("\(error.localizedDescription)")
    }
    let id = finishedDownload.identifier
    Task {
      do {
        let size = try await BADownloadManager.shared.withExclusiveControl {
          let target = container.appendingPathComponent(id)
          try FileManager.default.moveItem(at: temporary, to: target)
          return try FileManager.default.attributesOfItem(atPath: target.path)[.size] as? NSNumber
        }
        logger.info("size \(size?.int64Value ?? 0)")
        try await BADownloadManager.shared.withExclusiveControl(before: .now.addingTimeInterval(3)) {
          _ = try? FileManager.default.contentsOfDirectory(
            at: container, includingPropertiesForKeys: [.fileSizeKey, .isRegularFileKey])
        }
      } catch {
        logger.error("\(error)")
      }
    }
  }
}
