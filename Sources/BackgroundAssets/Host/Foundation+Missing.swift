// Members of Apple's Foundation that downloader extensions use and that Linux's lacks.

extension ProcessInfo {
  /// Always false: the host decides when an extension is woken.
  public var isLowPowerModeEnabled: Bool { false }

  public enum ThermalState: Int, Sendable { case nominal, fair, serious, critical }

  /// Always nominal.
  public var thermalState: ThermalState { .nominal }

  /// Never posted.
  public static let thermalStateDidChangeNotification = Notification.Name(
    "NSProcessInfoThermalStateDidChangeNotification")

  public var isMacCatalystApp: Bool { false }
  public var isiOSAppOnMac: Bool { false }
}

extension Notification.Name {
  /// Never posted.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  public static let NSProcessInfoPowerStateDidChange = Notification.Name("NSProcessInfoPowerStateDidChangeNotification")
}

extension NSError {
  /// Those that lie under `NSUnderlyingErrorKey`.
  public var underlyingErrors: [any Error] { (userInfo[NSUnderlyingErrorKey] as? any Error).map { [$0] } ?? [] }
}

extension URLError {
  public enum NetworkUnavailableReason: Int, Sendable { case cellular, expensive, constrained }

  /// Always nil: which network is used is the host's affair.
  public var networkUnavailableReason: NetworkUnavailableReason? { nil }

  /// Always nil: the host keeps what it has received, and resumes by itself.
  public var downloadTaskResumeData: Data? { nil }

  public enum BackgroundTaskCancelledReason: Int, Sendable {
    case userForceQuitApplication, backgroundUpdatesDisabled, insufficientSystemResources
  }

  /// Always nil.
  public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? { nil }
}
