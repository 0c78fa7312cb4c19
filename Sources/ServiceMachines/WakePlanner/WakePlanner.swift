public struct WakePlanner: Sendable, Equatable, Codable {
  public internal(set) var settings: ServiceSettings

  public init(settings: ServiceSettings = .init(), seed: UInt64) { self.settings = settings }

  public var nextDeadline: Instant? { nil }

  public mutating func handle(_ event: Event, now: Instant) -> [Effect] { [] }
}
