/// How a credential is shown to a server; weaker first. Basic shows a password, Digest lets a listener guess at one, and
/// Bearer shows no password at all.
public enum AuthScheme: String, Sendable, Comparable, CaseIterable, Codable {
  case basic, digest, bearer

  private var strength: Int {
    switch self {
    case .basic: 0
    case .digest: 1
    case .bearer: 2
    }
  }

  public static func < (left: Self, right: Self) -> Bool { left.strength < right.strength }
}
