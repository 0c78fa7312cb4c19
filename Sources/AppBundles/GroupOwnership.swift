/// Which app groups an app may have: a group belongs to the app that was installed with it first (L16).
package enum GroupOwnership {
  package struct Conflict: Sendable, Equatable {
    package var group: String
    /// The identifiers of the apps that have it, sorted.
    package var owners: [String]
  }

  /// Groups of other apps that `app` declares and that the installation doesn't say to share, sorted. An app that had the group
  /// before keeps it: an installation that once shared it needn't say so again.
  package static func conflicts(
    of app: AppDescription, among installed: [AppDescription], sharing shared: Set<String>
  ) -> [Conflict] {
    let before = Set(installed.first { $0.identifier == app.identifier }?.appGroups ?? [])
    return app.appGroups.sorted().compactMap { group in
      guard !shared.contains(group), !before.contains(group) else { return nil }
      let owners = installed.filter { $0.identifier != app.identifier && $0.appGroups.contains(group) }
      return owners.isEmpty ? nil : Conflict(group: group, owners: Set(owners.map(\.identifier)).sorted())
    }
  }
}
