// swift-format-ignore-file: UseSynthesizedInitializer

import BackgroundAssets
import OSLog

@main
struct NonisolatedMembers: BADownloaderExtension, Sendable {
  nonisolated init() {}
  nonisolated func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<
    BADownload
  > {
    let box: [String: any Sendable] = ["info": extensionInfo, "set": Set<BADownload>(), "request": request]
    Logger(subsystem: "s", category: "c").trace(
      "\(box.count, align: .left(columns: 5)) \(3.5, format: .fixed(precision: 1)) \(true) \(UInt8(3), format: .hex) \(Optional<Int>.none)"
    )
    return []
  }
  nonisolated func backgroundDownload(_ d: BADownload, failedWithError error: any Error) {
    if case let error as URLError = error { print(error.code, error.failingURL as Any) }
    if (error as? CocoaError)?.code == .fileNoSuchFile {}
    if (error as NSError).code == BAErrorCode.downloadInvalid.rawValue {}
    let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
    print(underlying?.localizedDescription ?? "-", (error as NSError).localizedRecoverySuggestion ?? "-")
  }
}
