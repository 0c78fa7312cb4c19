/// Makes the `NSError` values of ``BAErrorDomain``.
///
/// Every one says what was refused, which value was to blame and, where there is one, the remedy: an app's log is often all
/// that its author ever sees of a failure.
enum FrameworkError {
  static func make(_ code: BAErrorCode, _ description: String, underlying: NSError? = nil) -> NSError {
    var userInfo = Self.userInfo(description)
    userInfo[NSUnderlyingErrorKey] = underlying
    return NSError(domain: BAErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  /// Both keys: on Linux `"\(error)"` shows the reason and nothing else, `(null)` where there is none, and
  /// `localizedDescription` the other.
  static func userInfo(_ description: String) -> [String: Any] {
    description.isEmpty
      ? [:] : [NSLocalizedDescriptionKey: description, NSLocalizedFailureReasonErrorKey: description]
  }

  static func schedulingDuringContentRequest(_ identifier: String) -> NSError {
    make(
      .callFromExtensionNotAllowed,
      "The download '\(identifier)' can't be scheduled while downloads(for:manifestURL:extensionInfo:) runs. "
        + "Return it from that function instead.")
  }

  static func foregroundFromExtension(_ identifier: String) -> NSError {
    make(
      .callFromExtensionNotAllowed,
      "The download '\(identifier)' can't start in the foreground: an extension schedules background downloads only. "
        + "Use scheduleDownload(_:).")
  }

  static func foregroundFromInactiveProcess(_ identifier: String) -> NSError {
    make(
      .callFromInactiveProcessNotAllowed,
      "The download '\(identifier)' can't start in the foreground: this process has said that it isn't active. "
        + "Set BADownloadManager.shared.isProcessActive, or use scheduleDownload(_:).")
  }

  static func essentialNotPermitted(_ identifier: String) -> NSError {
    make(
      .downloadEssentialDownloadNotPermitted,
      "The download '\(identifier)' is essential and can't be scheduled by the manager. Return it from "
        + "downloads(for:manifestURL:extensionInfo:) for an install or update request, or schedule removingEssential()."
    )
  }

  static func exclusiveControlTimedOut(_ date: Date) -> NSError {
    // What isn't a number has no description.
    let moment = date.timeIntervalSinceReferenceDate.isFinite ? "\(date)" : "its date"
    return make(
      .downloadInvalid,
      "Exclusive control wasn't acquired before \(moment): the app or its extension still holds it. Try again later.",
      underlying: NSError(domain: NSPOSIXErrorDomain, code: Int(ETIMEDOUT)))
  }
}
