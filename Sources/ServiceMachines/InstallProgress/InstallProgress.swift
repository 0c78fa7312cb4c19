/// Base app, installation and essential downloads as one fraction that never runs backwards (B53).
public struct InstallProgress: Sendable, Equatable, Codable {
  public enum Event: Sendable, Equatable, Codable {
    /// A new installation or update. `estimate`: `BAEssentialDownloadAllowance`, until the sizes are known.
    case began(estimate: Int64)
    /// Reading and unpacking the bundle, 0…1.
    case base(Double)
    case manifest(received: Int64, total: Int64?)
    /// The extension has answered: these are the essential downloads.
    case planned([PlannedDownload])
    /// Bytes of a download that are there, and that there will be where that is known.
    case received(uniqueIdentifier: String, bytes: Int64, total: Int64?)
    case settled(uniqueIdentifier: String)
    case paused
    case resumed
    /// The gate is open.
    case completed
  }

  public enum Effect: Sendable, Equatable, Codable { case report(Report) }

  public struct Report: Sendable, Equatable, Codable {
    /// 0…1; never less than the one before.
    public var fraction = 0.0
    public var base = 0.0
    public var install = 0.0
    public var essential = 0.0
    public var receivedBytes: Int64 = 0
    public var expectedBytes: Int64 = 0
    public var isPaused = false
  }

  public private(set) var report = Report()

  public init() {}

  public mutating func handle(_ event: Event, now: Instant) -> [Effect] { [] }
}
