import CExtension

extension FrameworkError {
  /// Turns a host's answer into an error.
  ///
  /// - Parameters:
  ///   - status: What a callback of the host returned; not `BA_OK`.
  ///   - operation: The call and its subject, for the description.
  ///   - fallback: The code for a status that isn't one of ``BAErrorCode``.
  static func answered(_ status: ba_status, to operation: String, fallback: BAErrorCode) -> NSError {
    guard let code = BAErrorCode(rawValue: Int(status)) else {
      return make(fallback, "\(operation) failed: the host answered with status \(status).")
    }
    return make(code, "\(operation) failed: \(code.explanation) (\(code.rawValue)).")
  }
}

extension BAErrorCode {
  /// The middle of a sentence; what was refused comes before it.
  var explanation: String {
    switch self {
    case .downloadInvalid: "the download is invalid"
    case .callFromExtensionNotAllowed: "an extension may not make this call, or not at this moment"
    case .callFromInactiveProcessNotAllowed: "an inactive process may not make this call"
    case .callerConnectionNotAccepted:
      "the caller isn't accepted; check that its app group and bundle identifier are declared and that it is a member"
    case .callerConnectionInvalid: "there is no valid connection to the service"
    case .downloadAlreadyScheduled: "a download with this identifier is already scheduled; cancel that one first"
    case .downloadNotScheduled: "the download isn't scheduled"
    case .downloadFailedToStart:
      "the download couldn't start; check its URL (https), file size (more than zero) and priority (-100 to 100)"
    case .downloadAlreadyFailed: "the download has failed already; schedule it again"
    case .downloadEssentialDownloadNotPermitted: "an essential download isn't allowed here; use removingEssential()"
    case .downloadBackgroundActivityProhibited: "settings forbid background activity"
    case .downloadWouldExceedAllowance: "its size would go beyond the allowance in BAInitialDownloadRestrictions"
    case .downloadDoesNotExist: "the service doesn't know this download"
    case .sessionDownloadDisallowedByDomain: "the URL's host isn't in BADownloadDomainAllowList"
    case .sessionDownloadDisallowedByAllowance: "the allowance in BAInitialDownloadRestrictions is used up"
    case .sessionDownloadAllowanceExceeded: "the transfer went beyond the allowance in BAInitialDownloadRestrictions"
    case .sessionDownloadNotPermittedBeforeAppLaunch: "it isn't permitted before the app's first launch"
    }
  }
}
