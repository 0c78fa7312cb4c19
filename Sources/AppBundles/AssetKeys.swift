/// The framework's keys of an app's `Info.plist` (spec, section 3.1): which it needs depends on its kind.
struct AssetKeys {
  var manifestURL: String?
  var restrictions: InitialRestrictions?
  var maxInstallSize: Int64?
  var essentialMaxInstallSize: Int64?
  var appGroupID: String?
  var isManaged: Bool
  var usesAppleHosting: Bool

  init(_ info: inout KeyReader, isDevelopment: Bool) {
    isManaged = info.flag(AppKeys.isManaged) ?? false
    usesAppleHosting = info.flag(AppKeys.usesAppleHosting) ?? false
    if usesAppleHosting, !isManaged {
      info.report(
        AppKeys.isManaged, expected: "true, as \(AppKeys.usesAppleHosting) is true",
        remedy: "add \(AppKeys.isManaged) with true, or remove \(AppKeys.usesAppleHosting)")
    }
    appGroupID = info.text(
      AppKeys.appGroupID,
      expected: "the app group that app and extension share: \(BundleNames.identifierRule)", isRequired: isManaged,
      where: BundleNames.isGroup)
    for key in AppKeys.inner where info.has(key) {
      info.report(
        key, expected: "nothing: this key belongs in \(AppKeys.restrictions)",
        remedy: "move it into the dictionary \(AppKeys.restrictions)")
    }
    if usesAppleHosting {
      for key in AppKeys.selfHosted where info.has(key) {
        info.report(key, as: .warning, expected: "nothing: an Apple-hosted app has no use for it", remedy: "remove it")
      }
      return
    }
    let schemeRemedy =
      isDevelopment
      ? nil : "serve the manifest over https; http to a loopback host is allowed in development mode (--development)"
    manifestURL = info.text(
      AppKeys.manifestURL, expected: ManifestAddress.expectation(isDevelopment: isDevelopment), remedy: schemeRemedy
    ) { ManifestAddress.isAllowed($0, isDevelopment: isDevelopment) }
    restrictions = Self.restrictions(&info)
    let remedy = "add the number of bytes on disk"
    maxInstallSize = info.bytes(AppKeys.maxInstallSize, absent: .warning, remedy: remedy)
    essentialMaxInstallSize = info.bytes(AppKeys.essentialMaxInstallSize, absent: .warning, remedy: remedy)
  }

  /// Every inner key is looked at, also where the dictionary is absent: who adds it is told at once what goes in.
  private static func restrictions(_ info: inout KeyReader) -> InitialRestrictions? {
    guard var inner = info.dictionary(AppKeys.restrictions) else {
      info.report(
        AppKeys.restrictions,
        expected: "a dictionary with \(AppKeys.inner.dropLast().joined(separator: ", ")) and \(AppKeys.domains)")
      return nil
    }
    defer { info.findings += inner.findings }
    let allowance = inner.bytes(AppKeys.allowance)
    let essential = inner.bytes(AppKeys.essentialAllowance, remedy: "it may be 0, but not absent")
    if !inner.has(AppKeys.domains) {
      inner.report(
        AppKeys.domains, expected: "an array of the hosts that downloads come from before the first launch")
    }
    let domains = inner.texts(
      AppKeys.domains, expected: "an array of host names", element: DomainPattern.rule,
      where: DomainPattern.isAllowed)
    guard let allowance, let essential else { return nil }
    return InitialRestrictions(
      downloadAllowance: allowance, essentialDownloadAllowance: essential,
      allowedDomains: domains.map { $0.map { $0.lowercased() } })
  }
}
