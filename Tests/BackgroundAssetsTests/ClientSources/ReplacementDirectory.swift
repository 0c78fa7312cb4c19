import BackgroundAssets
import OSLog

extension Logger {
  static let ext = Logger(subsystem: "com.example.client.ext", category: "downloader")
}

enum Constants {
  static let appGroup = "group.com.example.client"
  static let manifestName = "manifest.json"
}

struct ReplacementDirectoryManifest: Codable, Sendable {
  struct Entry: Codable, Hashable, Identifiable, Sendable {
    let id: String
    let url: URL
    let size: Int
    let essential: Bool
    let sha256: String?
    let updated: Date?
    private enum CodingKeys: String, CodingKey {
      case id, url, size
      case essential = "is_essential"
      case sha256, updated
    }
  }
  let version: Int
  let entries: [Entry]

  static func load(from url: URL) throws -> ReplacementDirectoryManifest {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    decoder.keyDecodingStrategy = .useDefaultKeys
    return try decoder.decode(ReplacementDirectoryManifest.self, from: Data(contentsOf: url, options: .mappedIfSafe))
  }
}

@main
struct Handler: BADownloaderExtension {
  func downloads(for contentRequest: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<
    BADownload
  > {
    let manifest: ReplacementDirectoryManifest
    do {
      manifest = try ReplacementDirectoryManifest.load(from: manifestURL)
      // keep a copy of the manifest for later
      let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Constants.appGroup)!
      let stored = container.appending(path: Constants.manifestName, directoryHint: .notDirectory)
      try? FileManager.default.removeItem(at: stored)
      try FileManager.default.copyItem(at: manifestURL, to: stored)
    } catch {
      Logger.ext.fault("manifest: \(error.localizedDescription, privacy: .public)")
      return []
    }
    let essentialAllowed = contentRequest == .install || contentRequest == .update
    let result = manifest.entries.map { entry in
      BAURLDownload(
        identifier: entry.id,
        request: URLRequest(url: entry.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 60),
        essential: entry.essential && essentialAllowed,
        fileSize: entry.size,
        applicationGroupIdentifier: Constants.appGroup,
        priority: entry.essential ? BADownload.Priority.max : BADownload.Priority(10)
      )
    }
    Logger.ext.log("scheduling \(result.count) downloads for \(String(describing: contentRequest), privacy: .public)")
    return Set(result)
  }

  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    Logger.ext.notice("finished \(finishedDownload.identifier, privacy: .public) at \(fileURL, privacy: .public)")
    let fileManager = FileManager.default
    guard let container = fileManager.containerURL(forSecurityApplicationGroupIdentifier: Constants.appGroup) else {
      return
    }
    var tempURL: URL
    do {
      let replacement = try fileManager.url(
        for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: container, create: true)
      tempURL = replacement.appending(component: fileURL.lastPathComponent)
      try fileManager.moveItem(at: fileURL, to: tempURL)
    } catch {
      Logger.ext.error("\(error)")
      return
    }
    BADownloadManager.shared.withExclusiveControl { lockAcquired, error in
      guard lockAcquired else {
        Logger.ext.warning("Failed to acquire lock: \(error)")
        return
      }
      do {
        let target = container.appending(components: "Library", "Caches", finishedDownload.identifier)
        try fileManager.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        if fileManager.fileExists(atPath: target.path(percentEncoded: false)) {
          _ = try fileManager.replaceItemAt(target, withItemAt: tempURL)
        } else {
          try fileManager.moveItem(at: tempURL, to: target)
        }
      } catch {
        Logger.ext.error("\(error)")
      }
    }
  }
}
