package import Sandbox

/// What one policy allows that another doesn't.
package struct PolicyDifference: Sendable, Equatable, Encodable {
  package struct Change: Sendable, Equatable, Encodable {
    /// The second policy allows more by it.
    package var isWider: Bool
    package var text: String
  }

  package var changes: [Change] = []
  package var isWider: Bool { changes.contains(where: \.isWider) }

  package init(from old: Policy, to new: Policy) {
    paths(old, new)
    for path in Set(old.libraries).symmetricDifference(new.libraries).sorted() {
      let isNew = new.libraries.contains(path)
      add(
        isNew,
        "\(path): \(isNew ? "read, and code that may be mapped while it runs" : "no longer read, nor code that may be mapped")"
      )
    }
    for wall in Wall.allCases where old.require.contains(wall) != new.require.contains(wall) {
      let isDropped = old.require.contains(wall)
      add(isDropped, isDropped ? "runs without \(wall.rawValue)" : "doesn't run without \(wall.rawValue)")
    }
    for name in Set(old.onDenied.keys).union(new.onDenied.keys).sorted() {
      let (was, now) = (old.onDenied[name] == .kill, new.onDenied[name] == .kill)
      if was != now { add(was, now ? "\(name) ends the run" : "\(name) fails and no longer ends the run") }
    }
    for (was, now) in zip(LimitValues.all(old.limits), LimitValues.all(new.limits)) where was.number != now.number {
      add(now.number > was.number, "\(now.name) \(now.text), was \(was.text)")
    }
  }

  /// Access is the same below a grant up to the next one, so that the grants of both are all there is to look at.
  private mutating func paths(_ old: Policy, _ new: Policy) {
    for path in Set(old.grants).union(new.grants).sorted() {
      let (was, now) = (old.access(to: path), new.access(to: path))
      // What may be mapped as code may be read.
      let isSaid = old.libraries.contains(path) != new.libraries.contains(path) && max(was, now) == .read
      guard was != now, !isSaid else { continue }
      // Said of the folder that it lies in.
      let parents = Set(old.grants).union(new.grants).filter { path.hasPrefix($0 + "/") }
      if parents.contains(where: { old.access(to: $0) == was && new.access(to: $0) == now }) { continue }
      add(now > was, "\(path): \(now.words), was \(was.words)")
    }
  }

  private mutating func add(_ isWider: Bool, _ text: String) { changes.append(Change(isWider: isWider, text: text)) }
}
