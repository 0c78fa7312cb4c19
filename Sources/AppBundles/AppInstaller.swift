internal import Glibc
internal import LinuxSystem

/// Puts apps into a folder of their own and takes them out again. `ROOT/ID/VERSION/Name.app` never changes once it is there;
/// `ROOT/ID/current` is a symbolic link to the version that counts, replaced by one rename(2).
///
/// Every operation is atomic: a process that is killed leaves the old state or the new one, and files that `sweep(keeping:)` removes.
/// Calls block, for as long as copying takes; any thread and any process may make them at the same time.
package struct AppInstaller: Sendable {
  package let root: String
  package var limits: BundleLimits
  /// Plain http to loopback hosts is allowed (L17).
  package var isDevelopment: Bool

  /// - Parameter root: the folder of all apps; made when the first one is placed.
  package init(root: String, isDevelopment: Bool, limits: BundleLimits = BundleLimits()) {
    self.root = root
    self.isDevelopment = isDevelopment
    self.limits = limits
  }

  /// Installs or updates an app: `stage(from:)` and `place(_:sharedGroups:)` in one.
  ///
  /// - Parameter sharedGroups: app groups of other apps that this one may share (L16).
  package func place(from path: String, sharedGroups: Set<String> = []) throws(BundleError) -> PlacedApp {
    try place(try stage(from: path), sharedGroups: sharedGroups)
  }

  /// Copies or unpacks an app into a folder that nothing else reads, on the volume of the apps, and checks the copy: what is checked
  /// is what `place(_:sharedGroups:)` puts in place.
  ///
  /// - Parameter path: a `Name.app` folder, or an archive (tar with any usual compression, zip) that has one at its top or one
  ///   folder deep.
  package func stage(from path: String) throws(BundleError) -> StagedApp {
    let source = try BundleSource(path)
    // What needn't be copied to be refused.
    if case .folder(let folder) = source { _ = try checked(folder, subject: path) }
    let root = try AppsRoot(self.root, isCreating: true)
    let staging = try StagingArea(in: root)
    let bundle: String
    switch source {
    case .folder(let folder): bundle = try staging.copy(folder, limits: limits)
    case .archive(let file): bundle = try staging.unpack(file, limits: limits)
    }
    let size = try TreePass.verify(bundle, subject: path, limits: limits)
    let description = try checked(bundle, subject: path)
    try staging.seal(description, entries: size.entries)
    return StagedApp(description: description, staging: staging, subject: path)
  }

  private func checked(_ bundle: String, subject: String) throws(BundleError) -> AppDescription {
    let (description, findings, _) = AppBundle.checkKeys(at: bundle, isDevelopment: isDevelopment)
    if let description { return description }
    let errors = findings.filter { $0.severity == .error }
    let first = errors.first.map { ": \($0.text)" } ?? ""
    let others = errors.count > 1 ? " and \(errors.count - 1) more" : ""
    throw BundleError(
      .invalid, subject, "isn't an app that can be installed\(first)\(others)",
      remedy: "see all with: outrider bundle check", findings: findings)
  }

  /// Puts a staged app in place, and makes it the version that counts. An app with the same identifier is updated; its former
  /// version stays beside it until `sweep(keeping:)`, also where both have the same number.
  package func place(_ staged: consuming StagedApp, sharedGroups: Set<String> = []) throws(BundleError) -> PlacedApp {
    let root = try AppsRoot(self.root, isCreating: true)
    let lock = try root.locked()
    defer { lock.end() }
    try checkGroups(of: staged.description, in: root, sharing: sharedGroups)
    return try AppFolder(root, staged.description.identifier).adopt(staged, isActive: true)
  }

  /// Puts a staged app beside the version that counts, if there is one, and leaves that as it is: `activate(_:version:)` makes
  /// it count, `sweep(keeping:)` removes it unless it is kept. Groups of apps that are still being installed are theirs as well.
  ///
  /// - Parameter registering: called before a sweep can remove it.
  package func prepare(
    _ staged: consuming StagedApp, sharedGroups: Set<String> = [], registering: (PlacedApp) -> Void
  ) throws(BundleError) -> PlacedApp {
    let root = try AppsRoot(self.root, isCreating: true)
    let lock = try root.locked()
    defer { lock.end() }
    try checkGroups(of: staged.description, in: root, sharing: sharedGroups)
    let app = try AppFolder(root, staged.description.identifier).adopt(staged, isActive: false)
    registering(app)
    return app
  }

  /// Makes a version of an app the one that counts, by one rename. Idempotent.
  ///
  /// - Parameter version: the name of its folder, the last but one part of `PlacedApp.path`.
  package func activate(_ identifier: String, version: String) throws(BundleError) {
    guard BundleNames.isIdentifier(identifier) else { throw BundleError(.notInstalled, identifier, "isn't installed") }
    let root = try AppsRoot(self.root, isCreating: false)
    let lock = try root.locked()
    defer { lock.end() }
    try AppFolder(root, identifier).activate(version)
  }

  /// Every version of every app, also those that don't count (yet).
  package func versions() -> [PlacedApp] {
    guard let root = try? AppsRoot(root, isCreating: false) else { return [] }
    return versions(root)
  }

  private func versions(_ root: borrowing AppsRoot) -> [PlacedApp] {
    root.names.filter { BundleNames.isIdentifier($0) }.flatMap { AppFolder(root, $0).versions }
  }

  /// The groups of every app, those of its earlier versions included, and why some can't be told.
  package func groups() -> GroupOwnership {
    guard let root = try? AppsRoot(root, isCreating: false) else { return GroupOwnership() }
    return groups(root)
  }

  private func groups(_ root: borrowing AppsRoot) -> GroupOwnership {
    var result = GroupOwnership()
    for name in root.names where BundleNames.isIdentifier(name) {
      let folder = AppFolder(root, name)
      do throws(BundleError) {
        result.groups[name] = try folder.groups()
      } catch {
        result.groups[name] = Set(folder.versions.flatMap(\.description.appGroups))
        result.problems[name] = error
      }
    }
    return result
  }

  private func checkGroups(
    of app: AppDescription, in root: borrowing AppsRoot, sharing shared: Set<String>
  ) throws(BundleError) {
    if let group = shared.subtracting(app.appGroups).min() {
      let declared = app.appGroups.isEmpty ? "none" : app.appGroups.joined(separator: ", ")
      throw BundleError(
        .groupNotDeclared, app.identifier,
        "doesn't declare the app group \(group), which --share-group names; it declares \(declared)",
        remedy: "name one that it declares, or leave --share-group out")
    }
    let ownership = groups(root)
    if let conflict = ownership.conflicts(of: app, sharing: shared).first {
      throw BundleError(
        .groupTaken, app.identifier,
        "declares the app group \(conflict.group), which belongs to \(conflict.owners.joined(separator: ", "))",
        remedy: "allow both to use it with --share-group \(conflict.group), or name another group")
    }
    if let problem = ownership.doubt(of: app, sharing: shared) { throw problem }
  }

  /// Removes an app with all its versions. Processes that run go on with the files that they have open.
  package func remove(_ identifier: String) throws(BundleError) {
    guard let root = try? AppsRoot(self.root, isCreating: false), BundleNames.isIdentifier(identifier) else {
      throw BundleError(.notInstalled, identifier, "isn't installed")
    }
    let name = Leftovers.name(.removed)
    do {
      let lock = try root.locked()
      defer { lock.end() }
      do throws(SystemCallError) {
        try SystemFiles().rename(identifier, in: root.number, to: name, in: root.number)
        try SystemFiles().synchronize(root.number)
      } catch {
        guard error.code == ENOENT else { throw BundleError(error, subject: identifier) }
        throw BundleError(.notInstalled, identifier, "isn't installed", remedy: "see what is with: outrider apps")
      }
    } catch let error as BundleError {
      throw error
    } catch {
      throw BundleError(.systemRefused, identifier, "\(error)")
    }
    Files.removeTree("\(root.path)/\(name)")
  }

  /// What is installed, and why something that looks like an app can't be read.
  package struct Inventory: Sendable {
    package var apps: [PlacedApp] = []
    package var problems: [BundleError] = []
  }

  /// Every installed app, by identifier. A folder of apps that doesn't exist yet is an empty one.
  package func inventory() -> Inventory {
    do throws(BundleError) {
      return inventory(try AppsRoot(root, isCreating: false))
    } catch {
      return Inventory(problems: error.code == .notInstalled ? [] : [error])
    }
  }

  private func inventory(_ root: borrowing AppsRoot) -> Inventory {
    var result = Inventory()
    for name in root.names where BundleNames.isIdentifier(name) {
      do throws(BundleError) {
        if let app = try AppFolder(root, name).current() { result.apps.append(app) }
      } catch {
        result.problems.append(error)
      }
    }
    return result
  }

  /// Every installed app that can be read, by identifier; see `inventory()` for the others.
  package func installed() -> [PlacedApp] { inventory().apps }

  /// The installed app of that identifier.
  package func current(_ identifier: String) -> PlacedApp? {
    guard BundleNames.isIdentifier(identifier), let root = try? AppsRoot(root, isCreating: false) else { return nil }
    return (try? AppFolder(root, identifier).current()) ?? nil
  }

  /// Removes what killed operations left, and versions that `current` doesn't name. What an installation in progress has is left
  /// alone, and so is everything that this type hasn't made.
  ///
  /// - Parameter keeping: paths of bundles that are still in use (`PlacedApp.path`).
  package func sweep(keeping: Set<String> = []) { sweep { keeping } }

  /// Likewise; `keeping` is asked when nothing can be prepared or placed any more.
  ///
  /// - Parameter identifier: The app whose versions are looked at; nil: all of them.
  package func sweep(_ identifier: String? = nil, keeping: () -> Set<String>) {
    guard let root = try? AppsRoot(root, isCreating: false), let lock = try? root.locked() else { return }
    defer { lock.end() }
    let keeping = keeping()
    for name in root.names {
      let path = "\(root.path)/\(name)"
      if Leftovers.isOne(name, .removed) {
        Files.removeTree(path)
      } else if Leftovers.isOne(name, .staged) {
        StagingArea.sweep(path)
      } else if BundleNames.isIdentifier(name), identifier == nil || identifier == name {
        AppFolder(root, name).sweep(keeping: keeping)
      }
    }
  }
}
