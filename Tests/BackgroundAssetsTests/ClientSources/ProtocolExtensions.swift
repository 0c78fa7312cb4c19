// swift-format-ignore-file: AvoidRetroactiveConformances

import BackgroundAssets
import os

protocol AssetProviding {
  associatedtype Asset: Hashable & Codable
  func assets() throws -> [Asset]
}
extension BADownloaderExtension {
  func log(_ message: String, function: StaticString = #function, file: StaticString = #fileID) {
    Logger(subsystem: "a", category: "b").debug("\(function) \(message, privacy: .public)")
  }
  var container: URL {
    FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.com.example.client")!
  }
}
extension BADownload {
  var isManifest: Bool { type(of: self) != BAURLDownload.self }
  var fileName: String { identifier.replacingOccurrences(of: "/", with: "_") }
}
extension BADownload.State: @retroactive CustomStringConvertible {
  public var description: String {
    switch self {
    case .failed: return "failed"
    case .created: return "created"
    case .waiting: return "waiting"
    case .downloading: return "downloading"
    case .finished: return "finished"
    @unknown default: return "unknown"
    }
  }
}
extension BADownload.Priority: @retroactive Comparable {
  static let urgent = BADownload.Priority(50)
  public static func < (l: BADownload.Priority, r: BADownload.Priority) -> Bool { l.rawValue < r.rawValue }
}
extension BAContentRequest: @retroactive CustomStringConvertible {
  public var description: String {
    switch self {
    case .install: "install"
    case .update: "update"
    case .periodic: "periodic"
    default: "?"
    }
  }
}
extension BAErrorCode { var nsError: NSError { NSError(domain: BAErrorDomain, code: rawValue) } }

@main struct ProtocolExtensions: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    log("\(request)")
    return []
  }
  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    log(
      "\(finishedDownload.isManifest) \(finishedDownload.state) \(finishedDownload.priority < .urgent) \(container.path)"
    )
  }
}
