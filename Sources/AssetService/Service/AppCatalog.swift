internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import Basics
internal import Downloads
internal import LinuxSystem
internal import Logging
internal import ServiceMachines
internal import ServiceProtocol

/// The bundles of apps: which versions there are, and which of them counts.
final class AppCatalog {
  let bundles: BundleShelf
  let plan: TransferPlan
  private let logger: Logger
  private var placed: [String: [String: PlacedApp]] = [:]

  init(_ bundles: BundleShelf, plan: TransferPlan, logger: Logger) {
    self.bundles = bundles
    self.plan = plan
    self.logger = logger
  }

  subscript(app: String, version: String) -> PlacedApp? { placed[app]?[version] }

  func remember(_ app: PlacedApp) {
    bundles.keep(app)
    placed[app.description.identifier, default: [:]][app.label] = app
  }

  /// What counts for decisions and summaries: the version that is coming, or the one that is there.
  func current(_ app: String, _ lifecycle: AppLifecycle?) -> PlacedApp? {
    let versions = placed[app] ?? [:]
    return lifecycle?.incoming.flatMap { versions[$0] } ?? lifecycle?.version.flatMap { versions[$0] }
      ?? versions.values.first
  }

  /// Where the groups of an app are, made where they aren't yet.
  func containers(of groups: [String]) -> [String: String] {
    var found: [String: String] = [:]
    for group in groups {
      do throws(StoreError) {
        try Containers(root: plan.groups).prepare(group)
        found[group] = plan.container(of: group)
      } catch {
        logger.error("the container of \(group) can't be opened: \(error)", metadata: ["group": "\(group)"])
      }
    }
    return found
  }

  /// The groups that this app has and no other one, in any version that there is or was, and those that others have as well.
  private func groups(of app: String) async -> (own: Set<String>, shared: Set<String>) {
    var ownership = await Task.detached { [bundles] in bundles.groups() }.value
    // Others may have taken the files of a version away.
    for (other, versions) in placed { ownership.add(versions.values.flatMap(\.description.appGroups), of: other) }
    if let problem = ownership.problems[app] {
      logger.error("groups of earlier versions stay in \(plan.groups): \(problem.reason)", metadata: ["app": "\(app)"])
    }
    let own = ownership.own(of: app)
    return (own, (ownership.groups[app] ?? []).subtracting(own))
  }

  // MARK: Actions

  func place(_ app: String, _ version: String) async -> AppLifecycle.Event {
    do {
      try await Task.detached { [bundles] in try bundles.activate(app, version: version) }.value
      return .versionPlaced(version: version)
    } catch {
      let reason = (error as? BundleError)?.reason ?? "\(error)"
      logger.error("\(error)", metadata: ["app": "\(app)"])
      return .versionFailed(version: version, reason: reason)
    }
  }

  /// Removes what is neither among `versions` nor named by the lifecycle, which may have got new ones since.
  func keep(_ app: String, _ versions: [String], isNamed: (String) -> Bool) async {
    let dropped = (placed[app] ?? [:]).filter { name, _ in !versions.contains(name) && !isNamed(name) }
    for name in dropped.keys { placed[app]?[name] = nil }
    bundles.drop(Array(dropped.values))
    await Task.detached { [bundles] in bundles.sweep(app) }.value
  }

  /// Its groups go before its bundle: a service that is killed between the two still knows which they are.
  func remove(_ app: String) async {
    let (own, shared) = await groups(of: app)
    func folders(_ groups: Set<String>) -> [String] {
      groups.filter(Containers.isValid).map { "\(plan.groups)/\($0)" }
    }
    let (gone, left) = (folders(own), folders(shared))
    await Task.detached {
      for group in gone { Files.removeTree(group) }
      for group in left { StagingLease.removeEmptyFolder(of: app, in: "\(group)/\(Containers.leaseName)") }
    }.value
    do {
      try await Task.detached { [bundles] in try bundles.remove(app) }.value
    } catch {
      logger.error("\(error)", metadata: ["app": "\(app)"])
    }
    bundles.drop(Array((placed.removeValue(forKey: app) ?? [:]).values))
  }

  /// Of an app that is being removed nothing is installed: the end of that would take it away, too.
  static func leaving(_ app: String) -> ServiceFailure {
    .command(
      75, "the app \(app) is still being removed", remedy: "install it once 'outrider apps' doesn't list it any more")
  }

  /// A bundle that is to be installed, checked, beside the version that counts. `leaving`: apps that are being removed.
  func prepare(
    _ installation: Installation, installed: Set<String>, leaving: Set<String> = []
  ) async throws(ServiceFailure) -> PlacedApp {
    do {
      let installed = installation.mustExist ? installed : nil
      return try await Task.detached { [bundles] in
        let staged = try bundles.stage(installation.path)
        let identifier = staged.description.identifier
        if let installed, !installed.contains(identifier) {
          throw ServiceFailure.command(
            66, "the app \(identifier) isn't installed, so it can't be updated", remedy: "outrider install")
        }
        if leaving.contains(identifier) { throw AppCatalog.leaving(identifier) }
        return try bundles.prepare(staged, sharing: Set(installation.sharedGroups))
      }.value
    } catch let error as BundleError {
      throw ServiceFailure(error)
    } catch let error as ServiceFailure {
      throw error
    } catch {
      throw .command(70, "\(error)")
    }
  }
}

extension PlacedApp {
  /// Tells this version from all others of the app: the name of its folder.
  var label: String {
    let parts = path.pathNames
    return parts.count > 1 ? String(parts[parts.count - 2]) : description.version
  }
}
