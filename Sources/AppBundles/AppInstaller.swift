/// Puts apps into a folder of their own and takes them out again. `ROOT/ID/VERSION/Name.app` never changes once it is there;
/// `ROOT/ID/current` is a symbolic link to the version that counts, replaced by one rename(2).
///
/// Every operation is atomic: whoever is killed leaves the old state or the new one, and files that `sweep(keeping:)` removes.
/// Calls block, for as long as copying takes; any thread and any process may make them at the same time.
public struct AppInstaller: Sendable {
  public let root: String
  public var limits: BundleLimits
  /// Plain http to loopback hosts is allowed (L17).
  public var isDevelopment: Bool

  /// - Parameter root: the folder of all apps; made when the first one is placed.
  public init(root: String, isDevelopment: Bool, limits: BundleLimits = BundleLimits()) {
    self.root = root
    self.isDevelopment = isDevelopment
    self.limits = limits
  }

  /// Installs or updates an app from a `Name.app` folder or an archive (tar with any usual compression, zip) that has one at its
  /// top or one folder deep. What is checked is the copy that is placed.
  ///
  /// - Parameter sharedGroups: app groups of other apps that this one may share (L16).
  public func place(from path: String, sharedGroups: Set<String> = []) throws(BundleError) -> PlacedApp {
    throw BundleError(.systemRefused, path, "can't be placed yet")
  }

  /// Removes an app with all its versions.
  public func remove(_ identifier: String) throws(BundleError) {
    throw BundleError(.notInstalled, identifier, "isn't installed")
  }

  /// Every installed app, by identifier. One that can't be read isn't among them; see `inventory()`.
  public func installed() -> [PlacedApp] { [] }

  /// The installed app of that identifier.
  public func current(_ identifier: String) -> PlacedApp? { nil }

  /// Removes what killed operations left, and versions that `current` doesn't name.
  ///
  /// - Parameter keeping: paths of bundles that are still in use (`PlacedApp.path`).
  public func sweep(keeping: Set<String> = []) {}
}
