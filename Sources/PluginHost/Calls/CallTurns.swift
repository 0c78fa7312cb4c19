/// Calls of one plugin that wait for their turn, in the order in which they were made.
struct CallTurns<Call> {
  private var waiting: [(id: UInt64, call: Call)] = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func add(_ call: Call, id: UInt64) { waiting.append((id, call)) }

  mutating func next() -> (id: UInt64, call: Call)? { waiting.isEmpty ? nil : waiting.removeFirst() }

  /// Takes a call out of the line; nil if it isn't there (any more).
  mutating func remove(_ id: UInt64) -> Call? {
    waiting.firstIndex { $0.id == id }.map { waiting.remove(at: $0).call }
  }

  mutating func removeAll() -> [Call] { exchange(&waiting, with: []).map(\.call) }
}
