internal import HostProtocol
internal import Synchronization

/// A function by its name and type as callers write them, and what follows from those: worked out once, since that takes as long as a
/// call.
final class KnownFunction: Sendable {
  private static let last = Atomic<UInt64>(0)

  let symbol: String
  /// Its type as it was written.
  let text: String
  let signature: CallSignature
  /// As `CallSignature.longestAnswer`.
  let longestAnswer: Int
  let isComposed: Bool
  let handles: Int
  /// Where a call of it may cross as words.
  let words: WordSignature?
  /// By which a runner's memory of it is known; no two in this process have the same. 0: it isn't to be remembered.
  let number: UInt64

  init(_ symbol: String, _ text: String, _ signature: CallSignature, isRemembered: Bool = true) {
    (self.symbol, self.text, self.signature) = (symbol, text, signature)
    longestAnswer = signature.longestAnswer
    isComposed = signature.isComposed
    handles = signature.handles
    words = isRemembered ? WordSignature(signature) : nil
    number = isRemembered ? Self.last.add(1, ordering: .relaxed).newValue : 0
  }
}
