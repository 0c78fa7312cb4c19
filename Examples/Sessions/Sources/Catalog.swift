import BackgroundAssets

/// The talks that there are: the app's manifest, as the extension left it in the group's container.
struct Catalog: Decodable, Sendable {
  let sessions: [Session]

  subscript(id: String) -> Session? { sessions.first { $0.id == id } }
}

/// One recorded talk.
struct Session: Decodable, Sendable {
  let id: String
  let title: String
  let url: URL
  /// Bytes.
  let size: Int
  let essential: Bool?

  var isEssential: Bool { essential ?? false }

  /// Never essential: essential downloads are the extension's, while the app is being installed.
  var download: BAURLDownload {
    BAURLDownload(
      identifier: id, request: URLRequest(url: url), fileSize: size, applicationGroupIdentifier: appGroup)
  }
}
