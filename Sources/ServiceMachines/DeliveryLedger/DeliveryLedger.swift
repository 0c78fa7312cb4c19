public struct DeliveryLedger: Sendable, Equatable, Codable {
  public init() {}

  public var nextDeadline: Instant? { nil }

  public mutating func handle(_ event: Event, now: Instant) -> [Effect] { [] }
}
