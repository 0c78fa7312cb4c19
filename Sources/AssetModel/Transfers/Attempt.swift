/// An attempt of a job that didn't bring it to its end. Times are nanoseconds, `wall` since 1970.
public struct Attempt: Sendable, Equatable {
  /// When it began, in nanoseconds since 1970.
  public var wall: Int64
  /// Nanoseconds that it took.
  public var duration: Int64
  /// Received on every hop.
  public var bytes: Int64
  /// The status of the last answer; nil where there was none.
  public var status: Int?
  /// What went wrong, for people.
  public var outcome: String

  /// Creates an attempt of its parts.
  public init(wall: Int64, duration: Int64, bytes: Int64, status: Int?, outcome: String) {
    self.wall = wall
    self.duration = duration
    self.bytes = bytes
    self.status = status
    self.outcome = outcome
  }
}
