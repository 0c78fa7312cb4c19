// Activities tell Apple's systems what not to do meanwhile: nap, sleep, end the process. Here the host decides, by the run's
// limits, and so these change nothing.
extension ProcessInfo {
  public struct ActivityOptions: OptionSet, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public static let idleDisplaySleepDisabled = ActivityOptions(rawValue: 1 << 40)
    public static let idleSystemSleepDisabled = ActivityOptions(rawValue: 1 << 20)
    public static let suddenTerminationDisabled = ActivityOptions(rawValue: 1 << 14)
    public static let automaticTerminationDisabled = ActivityOptions(rawValue: 1 << 15)
    public static let userInitiated = ActivityOptions(rawValue: 0x00ff_ffff)
    public static let userInitiatedAllowingIdleSystemSleep = userInitiated.subtracting(idleSystemSleepDisabled)
    public static let background = ActivityOptions(rawValue: 0xff)
    public static let latencyCritical = ActivityOptions(rawValue: 0xff_0000_0000)
  }

  /// Returns what ``endActivity(_:)`` takes.
  public func beginActivity(options: ActivityOptions = [], reason: String) -> any NSObjectProtocol { NSObject() }

  public func endActivity(_ activity: any NSObjectProtocol) {}

  /// Calls `block`, and no more.
  public func performActivity(options: ActivityOptions = [], reason: String, using block: @escaping () -> Void) {
    block()
  }
}
