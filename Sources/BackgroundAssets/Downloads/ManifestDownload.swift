/// The download of the app's manifest, which clients tell from their own by `type(of: download) == BAURLDownload.self`.
final class ManifestDownload: BAURLDownload, @unchecked Sendable {}
