internal import Downloads

/// Why a download isn't moving, without what follows from the download itself: many that wait for the same keep it once.
enum TransferWait: Sendable, Equatable {
  /// For a gate of the machine, whose explanation counts the bytes that are still to come.
  case gate(Cause.Gate)
  /// For room, whose numbers are said in other units to people.
  case disk(SpaceShortage)
  /// Without times, which differ from one to the other.
  case other(Explanation)

  init(_ explanation: Explanation) {
    switch explanation.cause {
    case .gate(var gate):
      gate.remaining = nil
      self = .gate(gate)
    case .disk(let shortage): self = .disk(shortage)
    default: self = .other(Explanation(explanation.code, data: explanation.data, remedy: explanation.remedy))
    }
  }

  /// `remaining`: bytes that are still to come; nil: unknown.
  func explanation(remaining: Int64?) -> Explanation {
    switch self {
    case .gate(var gate):
      gate.remaining = remaining
      return Explanation(.gate(gate))
    case .disk(let shortage): return Explanation(.disk(shortage))
    case .other(let explanation): return explanation
    }
  }
}
