/// Marks intervals for a profiler. Corresponds to Apple's `OSSignposter`.
///
/// Here the calls compile and measure nothing: there is no profiler on the other side.
public struct OSSignposter: Sendable {
  /// A signposter without subsystem and category. Corresponds to Apple's `OSSignposter.init()`.
  public init() {}
  /// Corresponds to Apple's `OSSignposter.init(subsystem:category:)`.
  public init(subsystem: String, category: String) {}
  /// Corresponds to Apple's `OSSignposter.init(subsystem:category:)`.
  public init(subsystem: String, category: OSLog.Category) {}
  /// Corresponds to Apple's `OSSignposter.init(logger:)`.
  public init(logger: Logger) {}
  /// Corresponds to Apple's `OSSignposter.init(logHandle:)`.
  public init(logHandle: OSLog) {}

  /// The same as every other one here. Corresponds to Apple's `OSSignposter.disabled`.
  public static let disabled = OSSignposter()

  /// False: nothing is measured. Corresponds to Apple's `OSSignposter.isEnabled`.
  public var isEnabled: Bool { false }

  /// The one identifier that is needed where nothing is measured. Corresponds to Apple's
  /// `OSSignposter.makeSignpostID()`.
  public func makeSignpostID() -> OSSignpostID { .exclusive }

  /// The same for the same object, as long as it lives.
  /// Corresponds to Apple's `OSSignposter.makeSignpostID(from:)`.
  public func makeSignpostID(from object: AnyObject) -> OSSignpostID { OSSignpostID(object) }

  /// Measures nothing. Corresponds to Apple's `OSSignposter.beginInterval(_:id:)`.
  public func beginInterval(_ name: StaticString, id: OSSignpostID = .exclusive) -> OSSignpostIntervalState {
    OSSignpostIntervalState()
  }

  /// Measures nothing. Corresponds to Apple's `OSSignposter.beginInterval(_:id:_:)`.
  public func beginInterval(
    _ name: StaticString, id: OSSignpostID = .exclusive, _ message: OSLogMessage
  ) -> OSSignpostIntervalState { OSSignpostIntervalState() }

  /// Measures nothing. Corresponds to Apple's `OSSignposter.beginAnimationInterval(_:id:)`.
  public func beginAnimationInterval(_ name: StaticString, id: OSSignpostID = .exclusive) -> OSSignpostIntervalState {
    OSSignpostIntervalState()
  }

  /// Measures nothing. Corresponds to Apple's `OSSignposter.beginAnimationInterval(_:id:_:)`.
  public func beginAnimationInterval(
    _ name: StaticString, id: OSSignpostID = .exclusive, _ message: OSLogMessage
  ) -> OSSignpostIntervalState { OSSignpostIntervalState() }

  /// Does nothing. Corresponds to Apple's `OSSignposter.endInterval(_:_:)`.
  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) {}

  /// Does nothing. Corresponds to Apple's `OSSignposter.endInterval(_:_:_:)`.
  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState, _ message: OSLogMessage) {}

  /// Does nothing. Corresponds to Apple's `OSSignposter.emitEvent(_:id:)`.
  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive) {}

  /// Does nothing. Corresponds to Apple's `OSSignposter.emitEvent(_:id:_:)`.
  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive, _ message: OSLogMessage) {}

  /// Runs the closure. Corresponds to Apple's `OSSignposter.withIntervalSignpost(_:id:around:)`.
  public func withIntervalSignpost<Result>(
    _ name: StaticString, id: OSSignpostID = .exclusive, around task: () throws -> Result
  ) rethrows -> Result { try task() }

  /// Runs the closure. Corresponds to Apple's `OSSignposter.withIntervalSignpost(_:id:_:around:)`.
  public func withIntervalSignpost<Result>(
    _ name: StaticString, id: OSSignpostID = .exclusive, _ message: OSLogMessage, around task: () throws -> Result
  ) rethrows -> Result { try task() }
}

/// Corresponds to Apple's `OSSignpostID`.
public struct OSSignpostID: Equatable, Hashable, Sendable {
  public let rawValue: UInt64

  /// Creates an identifier of its raw value. Corresponds to Apple's `OSSignpostID.init(_:)`.
  public init(_ rawValue: UInt64) { self.rawValue = rawValue }

  /// The one identifier that is needed where nothing is measured. Corresponds to Apple's `OSSignpostID.init(log:)`.
  public init(log: OSLog) { self = .exclusive }

  /// The same for the same object, as long as it lives.
  /// Corresponds to Apple's `OSSignpostID.init(log:object:)`.
  public init(log: OSLog, object: AnyObject) { self.init(object) }

  init(_ object: AnyObject) { self.init(UInt64(UInt(bitPattern: ObjectIdentifier(object)))) }

  /// The only interval of its name. Corresponds to Apple's `OSSignpostID.exclusive`.
  public static let exclusive = OSSignpostID(0xEEEE_B0B5_B2B2_EEEE)
  /// No interval. Corresponds to Apple's `OSSignpostID.invalid`.
  public static let invalid = OSSignpostID(.max)
  /// No interval yet. Corresponds to Apple's `OSSignpostID.null`.
  public static let null = OSSignpostID(0)
}

/// Corresponds to Apple's `OSSignpostIntervalState`.
public final class OSSignpostIntervalState: Sendable {
  /// A state that measures nothing. Corresponds to Apple's `OSSignpostIntervalState.beginState(id:)`.
  public static func beginState(id: OSSignpostID) -> OSSignpostIntervalState { OSSignpostIntervalState() }
}
