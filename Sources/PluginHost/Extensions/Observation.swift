/// Whether an extension wants the events of its app's downloads, and what the host's client knows of that.
struct Observation {
  private var isWanted = false
  private var isKnown = false
  private var isUnderWay = false

  /// What to tell the client now; nil: nothing, or not before it has received the last.
  mutating func wants(_ isWanted: Bool) -> Bool? {
    self.isWanted = isWanted
    return next()
  }

  /// The client has received what it was told.
  mutating func told() -> Bool? {
    isUnderWay = false
    return next()
  }

  private mutating func next() -> Bool? {
    guard !isUnderWay, isWanted != isKnown else { return nil }
    isUnderWay = true
    isKnown = isWanted
    return isWanted
  }
}
