/// Who may ask.
public enum Authentication: Sendable, Equatable {
  case basic(user: String, password: String)
  /// `usesPerNonce`: after so many requests a nonce is stale.
  case digest(user: String, password: String, algorithm: DigestAlgorithm = .sha256, usesPerNonce: Int? = nil)
  case bearer(token: String)

  /// `basic:user:password`, `digest:user:password`, `digest-md5:user:password` or `bearer:token`.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
    switch (parts[0], parts.count) {
    case ("basic", 3): self = .basic(user: parts[1], password: parts[2])
    case ("digest", 3): self = .digest(user: parts[1], password: parts[2])
    case ("digest-md5", 3): self = .digest(user: parts[1], password: parts[2], algorithm: .md5)
    case ("bearer", 2...): self = .bearer(token: parts.dropFirst().joined(separator: ":"))
    default: return nil
    }
  }
}
