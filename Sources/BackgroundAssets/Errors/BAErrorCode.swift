// The names are those of Apple's framework.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The domain of the errors that this framework throws and delivers.
///
/// Errors of the network have `NSURLErrorDomain` instead.
public let BAErrorDomain = "BAErrorDomain"

/// What went wrong, as the `code` of an `NSError` whose `domain` is ``BAErrorDomain``.
///
/// A plain enumeration, as on Apple platforms, and not an `Error` itself: compare
/// `(error as NSError).code == BAErrorCode.downloadNotScheduled.rawValue`.
public enum BAErrorCode: Int, Sendable {
  /// No valid code.
  case downloadInvalid = 0

  /// An extension may not make this call.
  case callFromExtensionNotAllowed = 50
  /// An inactive process may not make this call.
  case callFromInactiveProcessNotAllowed = 51
  /// The service doesn't accept this caller's app or extension identity.
  case callerConnectionNotAccepted = 55
  /// There is no valid connection to the service.
  case callerConnectionInvalid = 56

  /// A download with this identifier is already scheduled.
  case downloadAlreadyScheduled = 100
  /// The download isn't scheduled.
  case downloadNotScheduled = 101
  /// The download couldn't start.
  case downloadFailedToStart = 102
  /// The download has already failed.
  case downloadAlreadyFailed = 103
  /// Not enqueued: an essential download isn't allowed in this context.
  case downloadEssentialDownloadNotPermitted = 109
  /// Not enqueued: the user's or the power settings forbid background activity.
  case downloadBackgroundActivityProhibited = 111
  /// Not enqueued: its size would go beyond the allowance.
  case downloadWouldExceedAllowance = 112
  /// The operation names a download that doesn't exist.
  case downloadDoesNotExist = 113

  /// The URL's host isn't permitted before the app's first launch.
  case sessionDownloadDisallowedByDomain = 202
  /// Not allowed: the allowance is used up.
  case sessionDownloadDisallowedByAllowance = 203
  /// Failed: the transfer went beyond the allowance.
  case sessionDownloadAllowanceExceeded = 204
  /// Can't be scheduled before the app's first launch.
  case sessionDownloadNotPermittedBeforeAppLaunch = 206
}
