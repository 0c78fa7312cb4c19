/// What the service needs to know of an app: what its checked bundle says (spec, section 3).
///
/// It is kept beside the installed bundle, as JSON: members may be added, never renamed.
public struct AppDescription: Sendable, Equatable, Codable {
  /// `CFBundleIdentifier`; fit for a folder's name.
  public var identifier: String
  /// `CFBundleShortVersionString`, otherwise `CFBundleVersion`, otherwise `1`; fit for a folder's name.
  public var version: String
  /// `CFBundleVersion`, otherwise `version`.
  public var build: String
  /// For people: `CFBundleDisplayName`, otherwise `CFBundleName`, otherwise the bundle's name without `.app`.
  public var name: String
  /// The bundle's own folder name, for example `Sessions.app`.
  public var bundleName: String
  /// Where the executable lies within the bundle, for example `Sessions` or `Contents/MacOS/Sessions`.
  public var executable: String
  /// `BAManifestURL`; nil for an Apple-hosted app, which has none.
  public var manifestURL: String?
  /// What applies until the first launch; nil for an Apple-hosted app, which has none.
  public var restrictions: InitialRestrictions?
  /// `BAMaxInstallSize`, bytes.
  public var maxInstallSize: Int64?
  /// `BAEssentialMaxInstallSize`, bytes.
  public var essentialMaxInstallSize: Int64?
  /// The groups that the app is a member of (L16), sorted.
  public var appGroups: [String]
  /// `BAAppGroupID`.
  public var appGroupID: String?
  /// `BAHasManagedAssetPacks`.
  public var isManaged: Bool
  /// `BAUsesAppleHosting`.
  public var usesAppleHosting: Bool
  /// Where the extension's folder lies within the bundle, for example `Extensions/Downloader.appex`.
  public var extensionPath: String
  public var extensionIdentifier: String
  /// The groups that the extension is a member of, sorted: its own, or its app's where it names none.
  public var extensionAppGroups: [String]
}

/// `BAInitialDownloadRestrictions`: in force from installation to the first launch (spec, section 4.7). Sizes are bytes that
/// are transferred.
public struct InitialRestrictions: Sendable, Equatable, Codable {
  /// For all non-essential downloads together.
  public var downloadAllowance: Int64
  /// For all essential downloads together, the manifest included.
  public var essentialDownloadAllowance: Int64
  /// Host names, in lower case; a leading `*.` stands for every subdomain. nil: any host.
  public var allowedDomains: [String]?

  public init(downloadAllowance: Int64, essentialDownloadAllowance: Int64, allowedDomains: [String]?) {
    self.downloadAllowance = downloadAllowance
    self.essentialDownloadAllowance = essentialDownloadAllowance
    self.allowedDomains = allowedDomains
  }
}
