internal import AssetModel

/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110, 11.6.1).
struct Challenge: Sendable, Equatable {
  typealias Scheme = AuthScheme

  /// What a later challenge of the same origin must not fall below.
  struct Strength: Sendable, Comparable {
    var scheme: AuthScheme
    /// Of digests: which hash.
    var hash: Int

    static func < (left: Self, right: Self) -> Bool { (left.scheme, left.hash) < (right.scheme, right.hash) }
  }

  var scheme: Scheme
  /// Names are lower case.
  var parameters: [String: String]

  var realm: String { parameters["realm"] ?? "" }

  var strength: Strength {
    let hash = scheme == .digest ? DigestAlgorithm(parameters["algorithm"])?.strength : nil
    return Strength(scheme: scheme, hash: hash ?? 0)
  }

  private static let maxLines = 16
  private static let maxBytes = 8192
  private static let maxChallenges = 32
  static let maxParameters = 64

  /// The challenges whose schemes are known, the strongest first; several may share a line. Where a line stops making sense,
  /// the challenge that it was about is dropped with the rest of the line.
  static func parse(_ values: [String]) -> [Challenge] {
    var challenges: [Challenge] = []
    for value in values.prefix(maxLines) where value.utf8.count <= maxBytes {
      var reader = ChallengeReader(value)
      while challenges.count < maxChallenges, let item = reader.next() {
        guard let scheme = Scheme(rawValue: item.scheme), !item.hasToken68 else { continue }
        challenges.append(Challenge(scheme: scheme, parameters: item.parameters))
      }
    }
    // Equal ones stay in the order in which the server prefers them.
    return challenges.enumerated().sorted { left, right in
      left.element.strength == right.element.strength
        ? left.offset < right.offset : right.element.strength < left.element.strength
    }.map(\.element)
  }
}
