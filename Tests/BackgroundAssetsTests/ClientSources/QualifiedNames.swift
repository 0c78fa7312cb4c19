import BackgroundAssets

import class BackgroundAssets.BADownload
import struct Foundation.URL
import struct os.Logger

#if canImport(BackgroundAssets)
  typealias Ext = BackgroundAssets.BADownloaderExtension
#endif
@main struct QualifiedNames: Ext {
  func downloads(
    for request: BackgroundAssets.BAContentRequest, manifestURL: Foundation.URL,
    extensionInfo: BackgroundAssets.BAAppExtensionInfo
  ) -> Swift.Set<BackgroundAssets.BADownload> {
    guard case .install = request else { return .init() }
    let l = Logger(subsystem: "a", category: "b")
    l.critical("x \(manifestURL.path, privacy: .sensitive)")
    return .init(
      arrayLiteral: BAURLDownload(
        identifier: "x", request: .init(url: URL(string: "https://e.com")!), essential: true, fileSize: 1,
        applicationGroupIdentifier: "g", priority: .init(100)))
  }
}
