internal import AppBundles
internal import Synchronization

/// The bundles of installed apps on the disk: every version that is in use or on its way, and what removes the others.
final class BundleShelf: Sendable {
  private let installer: AppInstaller
  /// Paths that a sweep leaves alone. A new bundle is among them before a sweep can remove it.
  private let kept = Mutex(Set<String>())

  init(_ installer: AppInstaller) { self.installer = installer }

  /// Every version that is there.
  func versions() -> [PlacedApp] { installer.versions() }

  /// Which groups are whose. Blocks for as long as reading a small file of each version takes.
  func groups() -> GroupOwnership { installer.groups() }

  /// Copies or unpacks a bundle, and checks it. Blocks.
  func stage(_ path: String) throws(BundleError) -> StagedApp { try installer.stage(from: path) }

  /// Puts it beside the version that counts. Blocks for a few renames, or one removal.
  func prepare(_ staged: consuming StagedApp, sharing groups: Set<String>) throws(BundleError) -> PlacedApp {
    try installer.prepare(staged, sharedGroups: groups) { app in keep(app) }
  }

  func keep(_ app: PlacedApp) { kept.withLock { _ = $0.insert(app.path) } }

  /// The next sweep removes them.
  func drop(_ apps: [PlacedApp]) {
    let paths = apps.map(\.path)
    kept.withLock { $0.subtract(paths) }
  }

  /// Makes a version the one that counts. Blocks like `prepare`.
  func activate(_ identifier: String, version: String) throws(BundleError) {
    try installer.activate(identifier, version: version)
  }

  /// Removes every version that isn't kept, and what a killed installation left. Blocks.
  func sweep() { installer.sweep { kept.withLock { $0 } } }

  /// Those of one app alone: with many apps, all of them take too long for each.
  func sweep(_ identifier: String) { installer.sweep(identifier) { kept.withLock { $0 } } }

  func remove(_ identifier: String) throws(BundleError) { try installer.remove(identifier) }
}
