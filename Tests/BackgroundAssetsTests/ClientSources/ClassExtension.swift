import BackgroundAssets
import Foundation
import os.log

@main
final class ClassExtensionAssetExtension: NSObject, BADownloaderExtension {
  private let log = OSLog(subsystem: "com.example.client.ext", category: "assets")
  private lazy var fileManager = FileManager.default
  private var counter = 0

  required override init() {
    super.init()
  }

  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    os_log("request %{public}d manifest %{public}@", log: log, type: .info, request.rawValue, manifestURL.path)
    os_log(.error, log: log, "remaining %d", extensionInfo.restrictedDownloadSizeRemaining ?? -1)
    counter += 1
    guard let data = fileManager.contents(atPath: manifestURL.path),
      let json = try? JSONSerialization.jsonObject(with: data, options: []) as? [String: Any],
      let files = json["files"] as? [[String: Any]]
    else {
      return []
    }
    let downloads: [BADownload] = files.compactMap { file in
      guard let name = file["name"] as? String,
        let urlString = file["url"] as? String,
        let url = URL(string: urlString),
        let size = file["size"] as? Int
      else { return nil }
      return BAURLDownload(
        identifier: name, request: URLRequest(url: url), essential: false, fileSize: size,
        applicationGroupIdentifier: "group.com.example.client", priority: .default)
    }
    return Set(downloads)
  }

  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    guard let container = fileManager.containerURL(forSecurityApplicationGroupIdentifier: "group.com.example.client")
    else {
      os_log("no container", log: log, type: .fault)
      return
    }
    let caches = container.appendingPathComponent("Library").appendingPathComponent("Caches", isDirectory: true)
    do {
      try fileManager.createDirectory(at: caches, withIntermediateDirectories: true, attributes: nil)
      let destination = caches.appendingPathComponent(finishedDownload.identifier)
      if fileManager.fileExists(atPath: destination.path) {
        try fileManager.removeItem(at: destination)
      }
      try fileManager.moveItem(at: fileURL, to: destination)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      var mutable = destination
      try mutable.setResourceValues(values)
    } catch let error as NSError {
      os_log("move failed %{public}@ %ld", log: log, type: .error, error.domain, error.code)
    }
  }
}
