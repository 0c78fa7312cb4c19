import BackgroundAssets

/// The app's manifest.
struct Catalog: Decodable {
  let sessions: [Session]

  init(contentsOf url: URL) throws {
    // Mapped, because an extension has little memory and file pages don't count.
    self = try JSONDecoder().decode(Catalog.self, from: Data(contentsOf: url, options: .mappedIfSafe))
  }
}

/// One recorded talk.
struct Session: Decodable {
  let id: String
  let title: String
  let url: URL
  /// Bytes.
  let size: Int
  let essential: Bool?

  /// Essential only while the app is being installed or updated, and nothing whose name would leave the library.
  func download(for request: BAContentRequest) -> BADownload? {
    guard SessionLibrary.isName(id) else { return nil }
    let isEssential: Bool
    switch request {
    case .install, .update: isEssential = essential ?? false
    case .periodic, .languageChange: isEssential = false
    @unknown default: isEssential = false
    }
    return BAURLDownload(
      identifier: id,
      request: URLRequest(url: url),
      essential: isEssential,
      fileSize: size,
      applicationGroupIdentifier: appGroup,
      priority: isEssential ? .max : .default)
  }
}
