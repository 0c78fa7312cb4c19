internal import AppBundles
internal import AssetModel
internal import ServiceMachines
internal import ServiceProtocol

/// What clients are told of what went wrong.
extension ServiceFailure {
  init(_ failure: Failure) { self.init(domain: failure.domain, code: failure.code, message: failure.message) }

  init(_ error: BundleError) {
    let status =
      switch error.code {
      case .unreadable: 66
      case .notABundle, .invalid, .unsafeContent, .tooLarge, .damagedArchive, .groupNotDeclared: 65
      case .groupTaken: 77
      case .noSpace, .systemRefused: 73
      case .notInstalled: 66
      }
    // All of them at once (3.3), on one line: who prints it escapes others.
    let findings = error.findings.filter { $0.severity == .error }
    let reason =
      findings.isEmpty
      ? error.reason : "isn't an app that can be installed: " + findings.prefix(50).map(\.text).joined(separator: "; ")
    let remedy = findings.count == 1 ? findings[0].remedy ?? error.remedy : error.remedy
    self = .command(status, "\(error.subject): \(reason)", remedy: remedy)
  }

  init(_ rejection: RejectedDownload) {
    let isURL = rejection.cause == .unsupportedURL
    self.init(
      domain: Self.frameworkDomain, code: Int(rejection.code),
      message: "the download \(Printable.text(rejection.identifier)) can't be scheduled: \(rejection.reason)",
      underlyingDomain: isURL ? "NSURLErrorDomain" : nil, underlyingCode: isURL ? -1002 : nil)
  }

  /// For who asked for something that is decided, and isn't written down yet.
  static func isHeld(_ failure: ServiceFailure) -> ServiceFailure {
    var held = failure
    held.message = "this is done as soon as it can be written down: \(failure.message)"
    return held
  }

  /// What a process of an app gets that was uninstalled while it runs.
  static func uninstalled(_ app: String) -> Self {
    .framework(
      55, "the app \(Printable.text(app)) was uninstalled while it runs",
      remedy: "end it, and start it anew once it is installed again")
  }
}
