extension ExclusiveControl {
  public enum Holder: Sendable, Hashable, Codable {
    case connection(Int64)
    case run(Int64)
  }

  /// One request of one holder. Its token tells it from the holder's others.
  public struct Claim: Sendable, Hashable, Codable {
    public var holder: Holder
    public var token: UInt64

    public init(holder: Holder, token: UInt64) {
      self.holder = holder
      self.token = token
    }
  }

  public enum Event: Sendable, Equatable, Codable {
    /// `timeout` nil: waits as long as it takes; zero or less: tries once (B68).
    case requested(Claim, timeout: Duration?)
    /// Also takes back a request that wasn't granted yet.
    case released(Claim)
    case holderGone(Holder)
    case tick
    /// Connections and runs don't outlive the service.
    case restarted
  }

  public enum Effect: Sendable, Equatable, Codable {
    case grant(Claim)
    case refuse(Claim, Refusal)
  }

  public enum Refusal: String, Sendable, Codable {
    case notInTime
    /// The same token was asked for twice.
    case tokenInUse
    /// More waiting requests than one holder may have.
    case tooMany
  }
}
