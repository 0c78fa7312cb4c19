internal import Basics
internal import Foundation
internal import Glibc
internal import LinuxSystem

/// `ROOT/ID`: the versions of one app, and the link to the one that counts.
struct AppFolder {
  static let descriptionName = "description.json"
  private static let longestDescription = 1 << 20
  private static let linkPrefix = ".current-"

  private let identifier: String
  private let path: String
  private let root: String

  init(_ root: borrowing AppsRoot, _ identifier: String) {
    self.identifier = identifier
    self.root = root.path
    path = "\(root.path)/\(identifier)"
  }

  /// nil: the app isn't installed, though there may be what a killed installation left.
  func current() throws(BundleError) -> PlacedApp? {
    guard let version = linkedVersion else { return nil }
    return PlacedApp(description: try description(of: version), version: version, in: path)
  }

  /// The name of the folder that `current` leads to.
  private var linkedVersion: String? { Files.link("\(path)/\(BundleNames.current)") }

  private func description(of version: String) throws(BundleError) -> AppDescription {
    let subject = "\(path)/\(BundleNames.current)"
    guard Self.isVersionFolder(version) else {
      throw BundleError(
        .unreadable, subject, "leads to '\(version)', which isn't a version", remedy: Self.remedy(identifier))
    }
    let file = "\(path)/\(version)/\(Self.descriptionName)"
    do throws(SystemCallError) {
      let opened = try OwnedDescriptor.open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      let bytes = try opened.readAll(limit: Self.longestDescription)
      if let description = try? JSONDecoder().decode(AppDescription.self, from: Data(bytes)),
        description.identifier == identifier
      {
        return description
      }
    } catch {
      throw BundleError(.unreadable, file, SystemCallError.message(error.code), remedy: Self.remedy(identifier))
    }
    throw BundleError(.unreadable, file, "isn't the description of \(identifier)", remedy: Self.remedy(identifier))
  }

  private static func remedy(_ identifier: String) -> String { "install \(identifier) again" }

  /// The version's number, and behind a `~`, which none has, a counter where the same number is installed again.
  private static func isVersionFolder(_ name: String) -> Bool {
    let parts = name.split(separator: "~", omittingEmptySubsequences: false)
    guard let version = parts.first, BundleNames.isVersion(String(version)) else { return false }
    return parts.count == 1 || parts.count == 2 && (Int(parts[1]).map { $0 > 0 } ?? false)
  }

  /// Every version that is there and can be read, whether `current` leads to it or not; the one that it leads to first.
  var versions: [PlacedApp] {
    guard Files.link(path) == nil, let names = try? Files.names(in: path) else { return [] }
    let current = linkedVersion
    return names.filter(Self.isVersionFolder).sorted { ($0 == current ? 0 : 1, $0) < ($1 == current ? 0 : 1, $1) }
      .compactMap { version in
        (try? description(of: version)).map { PlacedApp(description: $0, version: version, in: path) }
      }
  }

  /// Has `current` lead to a version that is there. Called with the root's lock; nothing changes where it leads there already.
  func activate(_ version: String) throws(BundleError) {
    guard Self.isVersionFolder(version) else {
      throw BundleError(.notInstalled, identifier, "has no version '\(version)'", remedy: Self.remedy(identifier))
    }
    _ = try description(of: version)
    do throws(SystemCallError) {
      let folder = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      if linkedVersion != version { try link(version, in: folder) }
    } catch {
      throw BundleError(error, subject: path)
    }
  }

  /// Takes the staged folder over; where `isActive`, `current` then leads to it. Called with the root's lock.
  func adopt(_ staged: borrowing StagedApp, isActive: Bool) throws(BundleError) -> PlacedApp {
    do throws(SystemCallError) {
      // A link in its place would have the app put anywhere.
      if mkdir(path, 0o755) != 0, errno != EEXIST { throw SystemCallError("mkdir", code: errno, subject: path) }
      let folder = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      try synchronize(root)
      let before = linkedVersion
      let version = try move(staged, into: folder)
      do throws(SystemCallError) {
        try SystemFiles().synchronize(folder.number)
        if isActive { try link(version, in: folder) }
      } catch {
        if linkedVersion != version { Files.removeTree("\(path)/\(version)") }
        throw error
      }
      let number = before.map { String($0.prefix { $0 != "~" }) }
      return PlacedApp(description: staged.description, version: version, in: path, previousVersion: number)
    } catch {
      // Of a first installation.
      rmdir(path)
      throw BundleError(error, subject: path)
    }
  }

  private func synchronize(_ folder: String) throws(SystemCallError) {
    let opened = try OwnedDescriptor.open(folder, O_RDONLY | O_DIRECTORY)
    try SystemFiles().synchronize(opened.number)
  }

  private func move(
    _ staged: borrowing StagedApp, into folder: borrowing OwnedDescriptor
  ) throws(SystemCallError) -> String {
    let number = staged.description.version
    for count in 0..<10_000 {
      let name = count == 0 ? number : "\(number)~\(count)"
      do throws(SystemCallError) {
        try staged.staging.moveVersion(to: folder.number, as: name)
        return name
      } catch {
        guard error.code == EEXIST else { throw error }
      }
    }
    throw SystemCallError("rename", code: EEXIST, subject: number)
  }

  private func link(_ version: String, in folder: borrowing OwnedDescriptor) throws(SystemCallError) {
    let name = Self.linkPrefix + String(UInt64.random(in: .min ... .max), radix: 36)
    try checkErrno("symlinkat", name) { symlinkat(version, folder.number, name) }
    do throws(SystemCallError) {
      try checkErrno("renameat", name) { renameat(folder.number, name, folder.number, BundleNames.current) }
    } catch {
      unlinkat(folder.number, name, 0)
      throw error
    }
    try SystemFiles().synchronize(folder.number)
  }

  /// Called with the root's lock.
  func sweep(keeping: Set<String>) {
    guard let names = try? Files.names(in: path), Files.link(path) == nil else { return }
    let current = linkedVersion
    // Damaged: what is left may be all that there is.
    if let current, !Self.isVersionFolder(current) || (try? description(of: current)) == nil { return }
    var going: [String] = []
    var isStaying = current != nil
    for name in names {
      let place = "\(path)/\(name)"
      if name.hasPrefix(Self.linkPrefix) || GroupRecord.isDraft(name) {
        unlink(place)
      } else if Self.isVersionFolder(name), name != current {
        // An app that runs on through its update still reads its bundle, and is known by it.
        let isInUse =
          keeping.contains { $0.lies(below: place) } || (try? Files.real(place)).map(Processes.execute) == true
        if isInUse { isStaying = true } else { going.append(name) }
      }
    }
    // What they had in their groups stays the app's. Where that can't be written down they stay, and say so themselves.
    if isStaying, !hasRecorded(groupsOf: going) { return }
    for name in going { Files.removeTree("\(path)/\(name)") }
    if isStaying { return }
    // Of a first installation that was killed; what isn't empty stays.
    GroupRecord.remove(in: path)
    rmdir(path)
  }

  /// Writes down the groups of versions that go, but for those that stay with others. Returns whether all are safe.
  private func hasRecorded(groupsOf going: [String]) -> Bool {
    if going.isEmpty { return true }
    // One that was removed in part was written down before.
    let lost = Set(going.flatMap { (try? description(of: $0))?.appGroups ?? [] })
    let staying = versions.filter { app in !going.contains { app.path.lies(below: "\(path)/\($0)") } }
    guard !lost.subtracting(staying.flatMap(\.description.appGroups)).isEmpty else { return true }
    do {
      let recorded = try GroupRecord.read(identifier, in: path)
      if !lost.isSubset(of: recorded) { try GroupRecord.write(recorded.union(lost), in: path) }
      return true
    } catch {
      return false
    }
  }

  /// The groups of every version that there is or was since the app was installed.
  func groups() throws(BundleError) -> Set<String> {
    guard Files.link(path) == nil else { return [] }
    return try GroupRecord.read(identifier, in: path).union(versions.flatMap(\.description.appGroups))
  }
}

extension PlacedApp {
  init(description: AppDescription, version: String, in folder: String, previousVersion: String? = nil) {
    self.init(
      description: description, path: "\(folder)/\(version)/\(description.bundleName)", previousVersion: previousVersion
    )
  }
}
