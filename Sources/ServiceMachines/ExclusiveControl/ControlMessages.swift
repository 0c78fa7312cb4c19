extension ExclusiveControl {
  package enum Holder: Sendable, Hashable, Codable {
    case connection(Int64)
    case run(Int64)
  }

  /// One request of one holder. Its token tells it from the holder's others.
  package struct Claim: Sendable, Hashable, Codable {
    package var holder: Holder
    package var token: UInt64

    package init(holder: Holder, token: UInt64) {
      self.holder = holder
      self.token = token
    }
  }

  package enum Event: Sendable, Equatable, Codable {
    /// `timeout` nil: waits as long as it takes; zero or less: tries once (B68).
    case requested(Claim, timeout: Duration?)
    /// Also takes back a request that wasn't granted yet.
    case released(Claim)
    case holderGone(Holder)
    /// The app is being removed: nobody has control of its files any more, and who waits gets none.
    case appRemoved
    case tick
    /// Connections and runs don't outlive the service.
    case restarted
  }

  package enum Effect: Sendable, Equatable, Codable {
    case grant(Claim)
    case refuse(Claim, Refusal)
  }

  package enum Refusal: String, Sendable, Codable {
    case notInTime
    /// The same token was asked for twice.
    case tokenInUse
    /// More waiting requests than one holder may have.
    case tooMany
    case appRemoved
  }
}
