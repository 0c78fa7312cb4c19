internal import AssetStore

/// What was decided and isn't in the journal yet: none of it is carried out, or reported before it is there.
///
/// A journal that can't be written (a full disk, a file system that went read-only) holds the service up; what it holds is
/// written with the next attempt, all in one transaction.
struct UncommittedWork {
  private var actions: [Action] = []
  /// Whose machines changed; "" for what is the service's own.
  private(set) var apps: Set<String> = []
  private(set) var changes: [ServiceChange] = []
  /// Why the last attempt failed; nil: it didn't.
  private(set) var failure: String?

  mutating func add(_ actions: [Action], of apps: Set<String>, _ changes: [ServiceChange]) {
    self.actions += actions
    self.apps.formUnion(apps)
    self.changes += changes
  }

  /// Whether it is news that the journal can't be written.
  mutating func failed(_ reason: String) -> Bool {
    defer { failure = reason }
    return failure == nil
  }

  /// What is to be carried out now.
  mutating func committed() -> [Action] {
    defer { self = Self() }
    return actions
  }
}
