internal import Downloads

/// Why a download isn't moving, without what follows from the download itself: many that wait for the same keep it once.
enum TransferWait: Sendable, Equatable {
  /// For a gate of the machine, whose explanation counts the bytes that are still to come.
  case gate(Cause.Gate)
  /// Without times, which differ from one to the other.
  case other(Explanation)

  init(_ explanation: Explanation) {
    guard case .gate(var gate) = explanation.cause else {
      self = .other(Explanation(explanation.code, data: explanation.data, remedy: explanation.remedy))
      return
    }
    gate.remaining = nil
    self = .gate(gate)
  }

  /// `remaining`: bytes that are still to come; nil: unknown.
  func explanation(remaining: Int64?) -> Explanation {
    switch self {
    case .gate(var gate):
      gate.remaining = remaining
      return Explanation(.gate(gate))
    case .other(let explanation): return explanation
    }
  }
}
