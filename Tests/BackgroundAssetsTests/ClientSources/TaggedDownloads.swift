import BackgroundAssets

class TaggedDownload: BAURLDownload, @unchecked Sendable {
  let tag: String
  init(tag: String, url: URL, size: Int) {
    self.tag = tag
    super.init(
      identifier: tag, request: URLRequest(url: url), essential: false, fileSize: size,
      applicationGroupIdentifier: "group.com.example.client", priority: .default)
  }
  required init?(coder: NSCoder) {
    tag = coder.decodeObject(of: NSString.self, forKey: "tag") as String? ?? ""
    super.init(coder: coder)
  }
  override func encode(with coder: NSCoder) {
    super.encode(with: coder)
    coder.encode(tag as NSString, forKey: "tag")
  }
  override class var supportsSecureCoding: Bool { true }
}
@main struct TaggedDownloads: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    [TaggedDownload(tag: "t", url: URL(string: "https://cdn.example.com/t")!, size: 3)]
  }
}
