internal import Synchronization

/// Whether a command was told to end before its work is done, by a signal or by its time limit.
final class FetchEnding: Sendable {
  private struct State {
    var status: Int32?
    var isHandingOver = false
  }
  private let state = Mutex(State())

  /// What the command ends with where work is left; nil: nothing told it to end.
  var status: Int32? { state.withLock { $0.status } }

  var isAsked: Bool { status != nil }

  /// What is left to do for one that asks.
  enum Answer: Equatable {
    /// The downloads are to be put away.
    case first
    /// That was asked for before.
    case again
    /// All that is left is to hand the file to a reader, who may take as long as it likes: nothing has to be put away.
    case nothingToPutAway
  }

  func ask(_ status: Int32) -> Answer {
    state.withLock { state in
      if state.isHandingOver { return .nothingToPutAway }
      guard state.status == nil else { return .again }
      state.status = status
      return .first
    }
  }

  /// Whether nothing told the command to end: from now on, whoever does ends it at once.
  func beginHandingOver() -> Bool {
    state.withLock { state in
      state.isHandingOver = state.status == nil
      return state.isHandingOver
    }
  }
}
