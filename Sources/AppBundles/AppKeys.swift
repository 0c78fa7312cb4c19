/// The keys of the framework, all of which belong in the app's `Info.plist` (spec, section 3.1).
enum AppKeys {
  static let manifestURL = "BAManifestURL"
  static let restrictions = "BAInitialDownloadRestrictions"
  static let allowance = "BADownloadAllowance"
  static let essentialAllowance = "BAEssentialDownloadAllowance"
  static let domains = "BADownloadDomainAllowList"
  static let maxInstallSize = "BAMaxInstallSize"
  static let essentialMaxInstallSize = "BAEssentialMaxInstallSize"
  static let appGroupID = "BAAppGroupID"
  static let isManaged = "BAHasManagedAssetPacks"
  static let usesAppleHosting = "BAUsesAppleHosting"

  static let sizes = [maxInstallSize, essentialMaxInstallSize]
  static let flags = [isManaged, usesAppleHosting]
  /// Of no use to an Apple-hosted app.
  static let selfHosted = [manifestURL, restrictions] + sizes
  static let all = Set(selfHosted + flags + [appGroupID])
  /// Within the restrictions. At the root they are no keys of the framework, and easily put there by mistake.
  static let inner = [allowance, essentialAllowance, domains]
}
