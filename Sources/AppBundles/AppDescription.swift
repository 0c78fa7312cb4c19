/// What the service needs to know of an app: what its checked bundle says (spec, section 3).
///
/// It is kept beside the installed bundle, as JSON: members may be added, never renamed.
package struct AppDescription: Sendable, Equatable, Codable {
  /// `CFBundleIdentifier`; fit for a folder's name.
  package var identifier: String
  /// `CFBundleShortVersionString`, otherwise `CFBundleVersion`, otherwise `1`; fit for a folder's name.
  package var version: String
  /// `CFBundleVersion`, otherwise `version`.
  package var build: String
  /// For people: `CFBundleDisplayName`, otherwise `CFBundleName`, otherwise the bundle's name without `.app`.
  package var name: String
  /// The bundle's own folder name, for example `Sessions.app`.
  package var bundleName: String
  /// Where the executable lies within the bundle, for example `Sessions` or `Contents/MacOS/Sessions`.
  package var executable: String
  /// `BAManifestURL`; nil for an Apple-hosted app, which has none.
  package var manifestURL: String?
  /// What applies until the first launch; nil for an Apple-hosted app, which has none.
  package var restrictions: InitialRestrictions?
  /// `BAMaxInstallSize`, bytes.
  package var maxInstallSize: Int64?
  /// `BAEssentialMaxInstallSize`, bytes.
  package var essentialMaxInstallSize: Int64?
  /// The groups that the app is a member of (L16), sorted.
  package var appGroups: [String]
  /// `BAAppGroupID`.
  package var appGroupID: String?
  /// `BAHasManagedAssetPacks`.
  package var isManaged: Bool
  /// `BAUsesAppleHosting`.
  package var usesAppleHosting: Bool
  /// Where the extension's folder lies within the bundle, for example `Extensions/Downloader.appex`.
  package var extensionPath: String
  package var extensionIdentifier: String
  /// The groups that the extension is a member of, sorted: its own, or its app's where it names none.
  package var extensionAppGroups: [String]
}

/// `BAInitialDownloadRestrictions`: in force from installation to the first launch (spec, section 4.7). Sizes are bytes that
/// are transferred.
package struct InitialRestrictions: Sendable, Equatable, Codable {
  /// For all non-essential downloads together.
  package var downloadAllowance: Int64
  /// For all essential downloads together, the manifest included.
  package var essentialDownloadAllowance: Int64
  /// Host names, in lower case; a leading `*.` stands for every subdomain. nil: any host.
  package var allowedDomains: [String]?

  package init(downloadAllowance: Int64, essentialDownloadAllowance: Int64, allowedDomains: [String]?) {
    self.downloadAllowance = downloadAllowance
    self.essentialDownloadAllowance = essentialDownloadAllowance
    self.allowedDomains = allowedDomains
  }
}
