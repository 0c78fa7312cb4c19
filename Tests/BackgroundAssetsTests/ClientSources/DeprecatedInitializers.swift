import BackgroundAssets

@main struct DeprecatedInitializers: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    let url = URL(string: "https://cdn.example.com/x")!
    let d1 = BAURLDownload(identifier: "x", request: URLRequest(url: url), applicationGroupIdentifier: "g")
    let d2 = BAURLDownload(
      identifier: "y", request: .init(url: url), applicationGroupIdentifier: "g", priority: .init(rawValue: 3))
    if #available(iOS 16.4, macOS 13.3, *) {
      let d3 = BAURLDownload(identifier: "z", request: .init(url: url), fileSize: 3, applicationGroupIdentifier: "g")
      return [d1, d2, d3]
    } else {
      return [d1, d2]
    }
  }
  @available(iOS, deprecated: 16.4)
  @available(macOS, deprecated: 13.3)
  func extensionWillTerminate() {}
}
