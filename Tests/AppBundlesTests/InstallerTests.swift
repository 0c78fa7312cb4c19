import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import AppBundles

@Suite(.timeLimit(.minutes(2))) struct InstallerTests {
  private func root(_ scratch: Scratch) -> String { "\(scratch.path)/apps" }

  private func install(
    _ app: SampleApp, _ scratch: Scratch, name: String = "Sessions.app", sharing: Set<String> = []
  ) throws -> PlacedApp {
    let folder = try Files.temporaryDirectory(in: scratch.path, prefix: "source-")
    let bundle = try app.write(in: folder, name: name)
    return try AppInstaller(root: root(scratch), isDevelopment: false).place(from: bundle, sharedGroups: sharing)
  }

  @Test("An installed app is where it is said to be, and the link leads there by a relative path")
  func place() throws {
    let scratch = try Scratch()
    let placed = try install(SampleApp(), scratch)
    let real = try Files.real(root(scratch))
    #expect(placed.path == "\(real)/com.example.sessions/1.2/Sessions.app")
    #expect(placed.previousVersion == nil)
    #expect(Files.link("\(real)/com.example.sessions/current") == "1.2")
    #expect(Files.exists(placed.executablePath) && Files.exists("\(placed.extensionPath)/Info.plist"))
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    #expect(installer.current("com.example.sessions") == placed)
    #expect(installer.installed() == [placed])
    #expect(installer.current("com.example.other") == nil && installer.current("../apps") == nil)
  }

  @Test("Two apps with one identifier are an update, and the former version stays until it is swept")
  func update() throws {
    let scratch = try Scratch()
    let first = try install(SampleApp(identifier: "a.b", version: "1"), scratch)
    let second = try install(SampleApp(identifier: "a.b", version: "2"), scratch, name: "Renamed.app")
    #expect(second.previousVersion == "1")
    #expect(Files.exists(first.executablePath))
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    #expect(installer.installed().map(\.path) == [second.path])
    // In use.
    installer.sweep(keeping: [first.path])
    #expect(Files.exists(first.executablePath))
    installer.sweep()
    #expect(!Files.exists(first.path) && Files.exists(second.path))
    #expect(try Files.names(in: "\(root(scratch))/a.b") == ["2", "current"])
  }

  @Test("A prepared version counts when it is activated, not before; one that no app keeps is swept [B49]")
  func prepares() throws {
    let scratch = try Scratch()
    let first = try install(SampleApp(identifier: "a.b", version: "1"), scratch)
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    func prepare(_ app: SampleApp, _ registering: (PlacedApp) -> Void = { _ in }) throws -> PlacedApp {
      let folder = try Files.temporaryDirectory(in: scratch.path, prefix: "source-")
      return try installer.prepare(try installer.stage(from: app.write(in: folder)), registering: registering)
    }
    var registered: [PlacedApp] = []
    let second = try prepare(SampleApp(identifier: "a.b", version: "2")) { registered.append($0) }
    #expect(registered == [second])
    #expect(installer.installed().map(\.path) == [first.path])
    #expect(installer.versions().map(\.path) == [first.path, second.path])
    installer.sweep(keeping: [first.path])
    #expect(!Files.exists(second.path) && Files.exists(first.path))
    #expect(throws: BundleError.self) { try installer.activate("a.b", version: "2") }

    let third = try prepare(SampleApp(identifier: "a.b", version: "3"))
    for _ in 1...2 { try installer.activate("a.b", version: "3") }
    #expect(installer.installed().map(\.path) == [third.path])
    try installer.activate("a.b", version: "1")
    installer.sweep()
    #expect(try Files.names(in: "\(root(scratch))/a.b") == ["1", "current"])

    // Of an app that isn't there yet nothing counts, and nothing is left.
    _ = try prepare(SampleApp(identifier: "a.new", version: "1"))
    #expect(installer.installed().map(\.description.identifier) == ["a.b"])
    installer.sweep()
    #expect(!Files.exists("\(root(scratch))/a.new"))
  }

  @Test("The same version again is placed beside the one in use")
  func sameVersion() throws {
    let scratch = try Scratch()
    let first = try install(SampleApp(), scratch)
    var changed = SampleApp()
    changed.info["CFBundleName"] = "Changed"
    let second = try install(changed, scratch)
    #expect(first.path != second.path && second.previousVersion == "1.2")
    #expect(
      AppInstaller(root: root(scratch), isDevelopment: false).current("com.example.sessions")?.description.name
        == "Changed")
    let third = try install(SampleApp(), scratch)
    #expect(third.previousVersion == "1.2" && ![first.path, second.path].contains(third.path))
    AppInstaller(root: root(scratch), isDevelopment: false).sweep()
    #expect(Files.exists(third.path) && !Files.exists(second.path))
  }

  @Test("A staged app that isn't placed leaves nothing, and a sweep doesn't take one in progress")
  func staged() throws {
    let scratch = try Scratch()
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    let bundle = try SampleApp().write(in: scratch.path)
    do {
      let staged = try installer.stage(from: bundle)
      installer.sweep()
      #expect(staged.description.identifier == "com.example.sessions")
      #expect(installer.installed() == [])
      #expect(Scratch.tree(root(scratch)).count > 5)
      // What was checked is what is placed, whatever becomes of the source.
      Files.removeTree(bundle)
      #expect(Files.exists(try installer.place(staged).executablePath))
    }
    try installer.remove("com.example.sessions")
    try SampleApp().write(in: scratch.path)
    do { _ = try installer.stage(from: bundle) }
    #expect(Scratch.tree(root(scratch)) == [".lock"])
  }

  @Test("What is removed is gone at once, and only once")
  func remove() throws {
    let scratch = try Scratch()
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    #expect(throws: BundleError.self) { try installer.remove("com.example.sessions") }
    _ = try install(SampleApp(), scratch)
    _ = try install(SampleApp(identifier: "a.b"), scratch)
    try installer.remove("com.example.sessions")
    #expect(installer.installed().map(\.description.identifier) == ["a.b"])
    #expect(try Files.names(in: root(scratch)) == [".lock", "a.b"])
    for name in ["com.example.sessions", "../apps", ".lock", ""] {
      #expect(throws: BundleError.self, "\(name)") { try installer.remove(name) }
    }
    #expect(installer.installed().count == 1)
  }

  // MARK: L16

  @Test("L16: a group of another app needs to be shared by the installation that brings it in")
  func groups() throws {
    let scratch = try Scratch()
    _ = try install(SampleApp(identifier: "a.b", groups: ["group.a", "group.shared"]), scratch)
    do throws(BundleError) {
      do { _ = try install(SampleApp(identifier: "c.d", groups: ["group.c", "group.shared"]), scratch) } catch let error
        as BundleError
      { throw error } catch { Issue.record(error) }
      Issue.record("placed")
    } catch {
      #expect(error.code == .groupTaken && error.description.contains("group.shared, which belongs to a.b"))
      #expect(error.remedy?.contains("--share-group group.shared") == true)
    }
    #expect(try Files.names(in: root(scratch)) == [".lock", "a.b"])
    _ = try install(
      SampleApp(identifier: "c.d", groups: ["group.c", "group.shared"]), scratch, sharing: ["group.shared"])
    // It had it before.
    _ = try install(SampleApp(identifier: "c.d", version: "2", groups: ["group.c", "group.shared"]), scratch)
    _ = try install(SampleApp(identifier: "a.b", version: "2", groups: ["group.a", "group.shared"]), scratch)
  }

  @Test("L16: who owns which group")
  func ownership() throws {
    func app(_ identifier: String, _ groups: [String]) throws -> AppDescription {
      try #require(try SampleApp(identifier: identifier, groups: groups).findings().0)
    }
    let installed = GroupOwnership(groups: ["a.b": ["g.1", "g.2"], "c.d": ["g.2"]])
    let new = try app("e.f", ["g.0", "g.1", "g.2"])
    #expect(
      installed.conflicts(of: new, sharing: []) == [
        .init(group: "g.1", owners: ["a.b"]), .init(group: "g.2", owners: ["a.b", "c.d"]),
      ])
    #expect(installed.conflicts(of: new, sharing: ["g.1"]).map(\.group) == ["g.2"])
    #expect(GroupOwnership().conflicts(of: new, sharing: []) == [])
    // An update may not take a further group of another app on.
    #expect(installed.conflicts(of: try app("c.d", ["g.1", "g.2"]), sharing: []).map(\.group) == ["g.1"])
    #expect(installed.own(of: "a.b") == ["g.1"] && installed.own(of: "c.d") == [] && installed.own(of: "e.f") == [])
    // What isn't known of one app is in the way of what others would declare anew, and of nothing else.
    let error = BundleError(.unreadable, "a.b", "is damaged")
    let doubtful = GroupOwnership(groups: installed.groups, problems: ["a.b": error])
    #expect(doubtful.doubt(of: try app("c.d", ["g.2", "g.3"]), sharing: []) == error)
    #expect(doubtful.doubt(of: try app("c.d", ["g.2", "g.3"]), sharing: ["g.3"]) == nil)
    #expect(doubtful.doubt(of: try app("c.d", ["g.2"]), sharing: []) == nil)
  }

  @Test("L16: a group that an update names no more stays its app's until that is removed")
  func groupsOfEarlierVersions() throws {
    let scratch = try Scratch()
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    let stranger = SampleApp(identifier: "org.stranger", groups: ["g.first"])
    func refusal() throws -> BundleError? {
      do { _ = try install(stranger, scratch) } catch let error as BundleError { return error }
      return nil
    }
    _ = try install(SampleApp(identifier: "a.b", version: "1", groups: ["g.first"]), scratch)
    _ = try install(SampleApp(identifier: "a.b", version: "2", groups: ["g.second"]), scratch)
    #expect(try refusal()?.code == .groupTaken)
    installer.sweep()
    #expect(try Files.names(in: "\(root(scratch))/a.b") == [".groups", "2", "current"])
    #expect(try refusal()?.description.contains("g.first, which belongs to a.b") == true)
    #expect(installer.groups() == GroupOwnership(groups: ["a.b": ["g.first", "g.second"]]))

    // Its own it has back, also after more updates.
    _ = try install(SampleApp(identifier: "a.b", version: "3", groups: ["g.third"]), scratch)
    installer.sweep()
    #expect(installer.groups().own(of: "a.b") == ["g.first", "g.second", "g.third"])
    _ = try install(SampleApp(identifier: "a.b", version: "1", groups: ["g.first"]), scratch)
    installer.sweep()
    #expect(installer.groups().own(of: "a.b") == ["g.first", "g.second", "g.third"])

    // One that was shared once belongs to both.
    _ = try install(stranger, scratch, sharing: ["g.first"])
    #expect(installer.groups().own(of: "a.b") == ["g.second", "g.third"])
    try installer.remove("org.stranger")
    try installer.remove("a.b")
    #expect(try refusal() == nil)
  }

  @Test("L16: an update that was given up leaves its groups with its app; an installation that was, doesn't")
  func groupsOfPreparedVersions() throws {
    let scratch = try Scratch()
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    func prepare(_ app: SampleApp) throws {
      let folder = try Files.temporaryDirectory(in: scratch.path, prefix: "source-")
      _ = try installer.prepare(try installer.stage(from: app.write(in: folder))) { _ in }
    }
    let first = try install(SampleApp(identifier: "a.b", version: "1", groups: ["g.1"]), scratch)
    try prepare(SampleApp(identifier: "a.b", version: "2", groups: ["g.2"]))
    // Its extension may have put files there.
    installer.sweep(keeping: [first.path])
    #expect(installer.groups() == GroupOwnership(groups: ["a.b": ["g.1", "g.2"]]))
    try prepare(SampleApp(identifier: "c.d", version: "1", groups: ["g.3"]))
    installer.sweep(keeping: [first.path])
    #expect(installer.groups() == GroupOwnership(groups: ["a.b": ["g.1", "g.2"]]))
    #expect(try Files.names(in: root(scratch)) == [".lock", "a.b"])
  }

  @Test("L16: where a record of groups is damaged, none is given away", arguments: 0..<8)
  func damagedGroups(kind: Int) throws {
    let scratch = try Scratch()
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    _ = try install(SampleApp(identifier: "a.b", version: "1", groups: ["g.1", "g.2"]), scratch)
    let file = "\(root(scratch))/a.b/.groups"
    func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: file)) }
    switch kind {
    case 0: try write("")
    case 1: try write("[\"g.9\"")
    case 2: try write("{\"groups\":[]}")
    case 3: try write("[\"g.9\",\"g.8\"]")
    case 4: try write("[\"../g\"]")
    case 5: try write("[" + String(repeating: " ", count: 1 << 20) + "]")
    case 6: mkfifo(file, 0o600)
    default: symlink("1/description.json", file)
    }
    for app in ["a.b", "c.d"] {
      let error = #expect(throws: BundleError.self, "\(app)") {
        _ = try install(SampleApp(identifier: app, version: "2", groups: ["g.3"]), scratch)
      }
      #expect(error?.code == .unreadable && error?.remedy == "uninstall a.b, then install it again")
    }
    _ = try install(SampleApp(identifier: "e.f", groups: ["g.3"]), scratch, sharing: ["g.3"])
    // A version whose groups can't be written down is their record.
    _ = try install(SampleApp(identifier: "a.b", version: "3", groups: ["g.2"]), scratch)
    installer.sweep()
    #expect(installer.groups().groups["a.b"] == ["g.1", "g.2"])
    try installer.remove("a.b")
    _ = try install(SampleApp(identifier: "c.d", version: "2", groups: ["g.1"]), scratch)
  }

  // MARK: Surroundings

  @Test("The folder of all apps may be a link")
  func linkedRoot() throws {
    let scratch = try Scratch()
    try Files.makeDirectories("\(scratch.path)/elsewhere", mode: 0o700)
    symlink("elsewhere", root(scratch))
    let placed = try install(SampleApp(), scratch)
    #expect(placed.path.hasPrefix(try Files.real("\(scratch.path)/elsewhere")))
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    installer.sweep(keeping: [placed.path])
    #expect(installer.installed() == [placed])
  }

  @Test("The folder of all apps may hand its group down, and an archive may have files alone")
  func sharedGroupFolder() throws {
    let scratch = try Scratch()
    try Files.makeDirectories(root(scratch), mode: 0o700)
    chmod(root(scratch), 0o2770)
    try SampleApp().write(in: scratch.path)
    let archive = "\(scratch.path)/a.zip"
    // Without entries for folders.
    try Tool.run("zip", ["-qrD", archive, "Sessions.app"], in: scratch.path)
    let placed = try AppInstaller(root: root(scratch), isDevelopment: false).place(from: archive)
    #expect(Files.exists(placed.executablePath))
  }

  @Test("A link in place of an app's folder isn't followed")
  func linkedApp() throws {
    let scratch = try Scratch()
    try Files.makeDirectories(root(scratch), mode: 0o700)
    try Files.makeDirectories("\(scratch.path)/elsewhere/1.0", mode: 0o700)
    symlink("../elsewhere", "\(root(scratch))/com.example.sessions")
    #expect(throws: BundleError.self) { try install(SampleApp(), scratch) }
    AppInstaller(root: root(scratch), isDevelopment: false).sweep()
    #expect(try Files.names(in: "\(scratch.path)/elsewhere") == ["1.0"])
  }

  @Test("What isn't the installer's own is left alone by a sweep")
  func foreignFiles() throws {
    let scratch = try Scratch()
    _ = try install(SampleApp(), scratch)
    try Files.makeDirectories("\(root(scratch))/notes/2020 old", mode: 0o700)
    try Files.makeDirectories("\(root(scratch))/com.example.sessions/my folder", mode: 0o700)
    AppInstaller(root: root(scratch), isDevelopment: false).sweep()
    #expect(Files.exists("\(root(scratch))/notes/2020 old"))
    #expect(Files.exists("\(root(scratch))/com.example.sessions/my folder"))
  }

  @Test("A damaged installation is reported, the others work, and nothing of it is swept", arguments: [0, 1, 2, 3])
  func damaged(kind: Int) throws {
    let scratch = try Scratch()
    let placed = try install(SampleApp(), scratch)
    _ = try install(SampleApp(identifier: "a.b"), scratch)
    let folder = "\(root(scratch))/com.example.sessions"
    switch kind {
    case 0: try Data("{}".utf8).write(to: URL(fileURLWithPath: "\(folder)/1.2/description.json"))
    case 1: unlink("\(folder)/1.2/description.json")
    case 2:
      unlink("\(folder)/current")
      symlink("../../../etc", "\(folder)/current")
    default:
      unlink("\(folder)/1.2/description.json")
      mkfifo("\(folder)/1.2/description.json", 0o600)
    }
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    let inventory = installer.inventory()
    #expect(inventory.apps.map(\.description.identifier) == ["a.b"])
    #expect(inventory.problems.count == 1 && inventory.problems[0].remedy == "install com.example.sessions again")
    installer.sweep()
    #expect(Files.exists(placed.path))
    // Which is possible, and mends it.
    _ = try install(SampleApp(), scratch)
    #expect(installer.inventory().problems == [])
  }

  @Test("Installations at the same time all succeed, and what is left is one version of each app")
  func concurrently() async throws {
    let scratch = try Scratch()
    var sources: [String] = []
    for number in 0..<12 {
      let folder = "\(scratch.path)/\(number)"
      try Files.makeDirectories(folder, mode: 0o755)
      sources.append(try SampleApp(identifier: "app.n\(number % 3)", version: "1.\(number)").write(in: folder))
    }
    let root = root(scratch)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for source in sources {
        group.addTask {
          let installer = AppInstaller(root: root, isDevelopment: false)
          _ = try installer.place(from: source)
          installer.sweep()
        }
      }
      try await group.waitForAll()
    }
    let installer = AppInstaller(root: root, isDevelopment: false)
    installer.sweep()
    #expect(installer.installed().map(\.description.identifier) == ["app.n0", "app.n1", "app.n2"])
    for app in installer.installed() { #expect(Files.exists(app.executablePath)) }
    #expect(try Files.names(in: root) == [".lock", "app.n0", "app.n1", "app.n2"])
    for name in ["app.n0", "app.n1", "app.n2"] { #expect(try Files.names(in: "\(root)/\(name)").count == 2) }
  }

  @Test("A folder that can't be made is an error", arguments: ["/proc/outrider-apps", "/dev/null/apps"])
  func noRoot(path: String) throws {
    let scratch = try Scratch()
    let bundle = try SampleApp().write(in: scratch.path)
    #expect(throws: BundleError.self) { try AppInstaller(root: path, isDevelopment: false).place(from: bundle) }
    #expect(AppInstaller(root: "\(scratch.path)/none", isDevelopment: false).inventory().problems == [])
    #expect(!Files.exists("\(scratch.path)/none"), "looking makes nothing")
  }

  @Test(
    "A full disk is said to be full, and leaves nothing",
    .enabled(if: SmallVolume.isPossible, "mounting a small volume needs root"))
  func fullDisk() throws {
    let scratch = try Scratch()
    var app = SampleApp()
    app.executable = Data(repeating: 7, count: 3 << 20)
    let bundle = try app.write(in: scratch.path)
    let volume = try SmallVolume(at: "\(scratch.path)/volume", size: "2m")
    let root = "\(volume.path)/apps"
    let archive = "\(scratch.path)/a.tar"
    try Tool.run("tar", ["-cf", archive, "Sessions.app"], in: scratch.path)
    for source in [bundle, archive] {
      do throws(BundleError) {
        _ = try AppInstaller(root: root, isDevelopment: false).place(from: source)
        Issue.record("placed")
      } catch {
        #expect(error.code == .noSpace, "\(error)")
      }
      #expect(Scratch.tree(root) == [".lock"])
    }
  }
}

/// A volume in memory that is soon full (tmpfs(5)), mounted while a test runs.
final class SmallVolume {
  static let isPossible: Bool = {
    guard getuid() == 0, let scratch = try? Scratch() else { return false }
    return withExtendedLifetime(scratch) { (try? SmallVolume(at: "\(scratch.path)/v", size: "64k")) != nil }
  }()

  let path: String

  init(at path: String, size: String) throws {
    try Files.makeDirectories(path, mode: 0o700)
    guard mount("outrider", path, "tmpfs", 0, "size=\(size)") == 0 else {
      throw SystemCallError("mount", code: errno, subject: path)
    }
    self.path = path
  }

  deinit { umount2(path, 2) }
}
