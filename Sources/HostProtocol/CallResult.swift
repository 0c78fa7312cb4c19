package import AssetModel

/// What a call brought.
public struct CallResult: Sendable, Equatable {
  /// What the function or entry point returned.
  public var value: CallValue
  /// The content of every argument that comes back, as bytes, in order: `out(N)`, `inout(N)`, `out T` and `inout T`. In a handle's
  /// place stands its number.
  public var out: [[UInt8]]
  /// The same as values, where a layout says what they are.
  package var composed: [CallValue]?
  /// What a content request answered; empty for every other call.
  package var downloads: [Download]

  /// The names, shortened, of downloads that found no room in that answer.
  package var refused: [String]
  /// What a challenge answered; nil for every other call.
  package var decision: ChallengeDecision?

  package init(
    value: CallValue, out: [[UInt8]] = [], downloads: [Download] = [], refused: [String] = [],
    decision: ChallengeDecision? = nil
  ) {
    self.value = value
    self.out = out
    self.downloads = downloads
    self.refused = refused
    self.decision = decision
  }

  /// Every argument that comes back as a value, in order: bytes for `out(N)` and `inout(N)`, what its type says for the others.
  public var outputs: [CallValue] { composed ?? out.map { .bytes($0) } }
}
