/// Whether the threads of a run stand still.
enum Stillness: Equatable {
  /// Of each its state and how often it has run: while that stays the same, none of them has. A plugin may have a timer send it
  /// SIGCONT.
  case stands([String: [String]])
  /// Of each that doesn't, what it has used of a processor; nil where the kernel doesn't say. None: this user sees no threads.
  case moves([String: Duration?])

  /// Whether threads that don't stand may have run since they were `before`. One that waits for a processor or for a disk has had
  /// no occasion to stop. The kernel may add what a thread uses at its next tick only.
  func mayHaveRun(since before: Stillness?) -> Bool {
    guard case .moves(let threads) = self, !threads.isEmpty, !threads.values.contains(nil) else { return true }
    return self != before
  }
}

extension Stillness: CustomStringConvertible {
  /// Why what the run maps couldn't be told.
  var description: String {
    switch self {
    case .stands: "what it maps couldn't be read while its threads stood still"
    case .moves(let threads): "\(threads.count) of its threads didn't stop"
    }
  }
}
