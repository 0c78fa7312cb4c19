/// Which app groups an app may have: a group belongs to the app that was installed with it first (L16), until that is removed. An
/// update that names it no more leaves the files in it, which no other app may find.
package struct GroupOwnership: Sendable, Equatable {
  package struct Conflict: Sendable, Equatable {
    package var group: String
    /// The identifiers of the apps that have it, sorted.
    package var owners: [String]
  }

  /// By app: the groups of all versions that it had since it was installed.
  package var groups: [String: Set<String>] = [:]
  /// By app: why those of earlier versions aren't known.
  package var problems: [String: BundleError] = [:]

  package init(groups: [String: Set<String>] = [:], problems: [String: BundleError] = [:]) {
    self.groups = groups
    self.problems = problems
  }

  /// Groups of other apps that `app` declares and that the installation doesn't say to share, sorted. An app that had the group
  /// before keeps it: an installation that once shared it needn't say so again.
  package func conflicts(of app: AppDescription, sharing shared: Set<String>) -> [Conflict] {
    new(app, shared).sorted().compactMap { group in
      let owners = groups.filter { $0.key != app.identifier && $0.value.contains(group) }
      return owners.isEmpty ? nil : Conflict(group: group, owners: owners.keys.sorted())
    }
  }

  /// Why it isn't known whether the groups that `app` declares belong to others, or which it had itself: nothing is installed
  /// then that declares one, but for those that it has or shares.
  package func doubt(of app: AppDescription, sharing shared: Set<String>) -> BundleError? {
    new(app, shared).isEmpty ? nil : problems.min { $0.key < $1.key }?.value
  }

  /// Groups that an app declares for the first time.
  private func new(_ app: AppDescription, _ shared: Set<String>) -> Set<String> {
    Set(app.appGroups).subtracting(groups[app.identifier] ?? []).subtracting(shared)
  }

  /// The groups that this app has, or had, and no other one: they go with it, with their files. What can't be told of another's
  /// earlier versions protects none: who installed one of these groups later would find what this app left.
  package func own(of app: String) -> Set<String> {
    groups.reduce(into: groups[app] ?? []) { own, other in if other.key != app { own.subtract(other.value) } }
  }

  /// Further groups of apps that are known to be installed.
  package mutating func add(_ others: some Sequence<String>, of app: String) {
    groups[app, default: []].formUnion(others)
  }
}
