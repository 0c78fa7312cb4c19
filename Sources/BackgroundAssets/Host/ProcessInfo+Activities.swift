// Activities tell Apple's systems what not to do meanwhile: nap, sleep, end the process. Here the host decides, by the run's
// limits, and so these change nothing.
extension ProcessInfo {
  /// What an activity asks of the system. It has no effect here.
  public struct ActivityOptions: OptionSet, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The display stays on.
    public static let idleDisplaySleepDisabled = ActivityOptions(rawValue: 1 << 40)
    /// The machine stays awake.
    public static let idleSystemSleepDisabled = ActivityOptions(rawValue: 1 << 20)
    /// The process isn't ended without a word.
    public static let suddenTerminationDisabled = ActivityOptions(rawValue: 1 << 14)
    /// The process isn't ended to save memory.
    public static let automaticTerminationDisabled = ActivityOptions(rawValue: 1 << 15)
    /// The user has asked for it.
    public static let userInitiated = ActivityOptions(rawValue: 0x00ff_ffff)
    /// The user has asked for it, and the machine may sleep.
    public static let userInitiatedAllowingIdleSystemSleep = userInitiated.subtracting(idleSystemSleepDisabled)
    /// No person waits for it.
    public static let background = ActivityOptions(rawValue: 0xff)
    /// Timers and I/O are as exact as they can be.
    public static let latencyCritical = ActivityOptions(rawValue: 0xff_0000_0000)
  }

  /// Returns what ``endActivity(_:)`` takes.
  ///
  /// - Parameters:
  ///   - options: Without effect.
  ///   - reason: For people; without effect.
  /// - Returns: What ends the activity.
  public func beginActivity(options: ActivityOptions = [], reason: String) -> any NSObjectProtocol { NSObject() }

  /// Ends an activity, which changes nothing.
  ///
  /// - Parameter activity: What ``beginActivity(options:reason:)`` returned.
  public func endActivity(_ activity: any NSObjectProtocol) {}

  /// Calls `block`, and no more.
  ///
  /// - Parameters:
  ///   - options: Without effect.
  ///   - reason: For people; without effect.
  ///   - block: What is called.
  public func performActivity(options: ActivityOptions = [], reason: String, using block: @escaping () -> Void) {
    block()
  }
}
