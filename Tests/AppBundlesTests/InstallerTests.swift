import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import AppBundles

@Suite(.timeLimit(.minutes(2))) struct InstallerTests {
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
