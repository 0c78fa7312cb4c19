import BackgroundAssets
import FoundationNetworking
import OSLog

private let logger = Logger(subsystem: Bundle.main.bundleIdentifier!, category: "net")

@main struct SessionInExtension: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    let semaphore = DispatchSemaphore(value: 0)
    let task = URLSession.shared.dataTask(with: URL(string: "https://cdn.example.com/extra.json")!) {
      data, response, error in
      if let http = response as? HTTPURLResponse { logger.info("status \(http.statusCode)") }
      if let error { logger.error("error \(error.localizedDescription)") }
      semaphore.signal()
    }
    task.resume()
    _ = semaphore.wait(timeout: .now() + 2)
    return []
  }
  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    Task { @MainActor in
      let (data, _) = try await URLSession.shared.data(from: fileURL)
      logger.info("\(data.count, format: .byteCount) \(data as NSData)")
    }
  }
}
