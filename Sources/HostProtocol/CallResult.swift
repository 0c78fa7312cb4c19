package import AssetModel

/// What a call brought.
public struct CallResult: Sendable, Equatable {
  /// What the function or entry point returned.
  public var value: CallValue
  /// The content of every `out(N)`, in order.
  public var out: [[UInt8]]
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
}
