import AssetModel
import AssetStore
import Foundation
import Glibc
import LinuxSystem
import ServiceClient
import ServiceProtocol
import TestSupport
import Testing

@testable import AppBundles
@testable import AssetService
@testable import Downloads

/// A volume in memory (tmpfs(5)) with a group's container on it.
private final class FullVolume {
  let path: String
  var container: String { path + "/container" }

  static let keepsMarks: Bool = {
    guard getuid() == 0, let volume = try? FullVolume(), let file = try? volume.write("x", bytes: 1) else {
      return false
    }
    return (try? PurgeMark.set(on: OwnedDescriptor.open(file, O_RDONLY))) == true
  }()

  init() throws {
    path = NSTemporaryDirectory() + "volume-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    guard mount("outrider", path, "tmpfs", 0, "size=8m") == 0 else {
      rmdir(path)
      throw SystemCallError("mount", code: errno, subject: path)
    }
    try FileManager.default.createDirectory(atPath: container + "/Caches/deep", withIntermediateDirectories: true)
  }

  deinit {
    umount2(path, 2)
    rmdir(path)
  }

  var free: Int64 {
    var facts = statvfs()
    statvfs(path, &facts)
    return Int64(facts.f_bavail) * Int64(facts.f_frsize)
  }

  func write(_ name: String, bytes: Int, markedAt seconds: Int? = nil) throws -> String {
    let file = "\(container)/\(name)"
    try Data(repeating: 7, count: bytes).write(to: URL(fileURLWithPath: file), options: .withoutOverwriting)
    guard let seconds else { return file }
    var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
    utimensat(AT_FDCWD, file, &times, 0)
    _ = try PurgeMark.set(on: OwnedDescriptor.open(file, O_RDONLY))
    return file
  }
}

@Suite(.timeLimit(.minutes(2))) struct PurgingTests {
  @Test(
    "A full volume gets room: marked files go, the oldest first, and no further than needed; the others stay [B56, B59]",
    .enabled(if: FullVolume.keepsMarks, "needs root, and attributes of users on tmpfs (kernel 6.6)"))
  func fullVolume() throws {
    let volume = try FullVolume()
    for (index, name) in ["Caches/newest", "Caches/deep/oldest", "middle"].enumerated() {
      _ = try volume.write(name, bytes: 2 << 20, markedAt: [3000, 1000, 2000][index])
    }
    let own = try volume.write("own", bytes: 1 << 19)
    let changed = try volume.write("changed", bytes: 1 << 18, markedAt: 1)
    try FileHandle(forWritingTo: URL(fileURLWithPath: changed)).write(contentsOf: Data([1]))
    symlink("\(volume.container)/Caches", volume.container + "/link")
    #expect(throws: (any Error).self) { try volume.write("more", bytes: 4 << 20) }
    try? FileManager.default.removeItem(atPath: volume.container + "/more")

    let marked = MarkedFiles(root: volume.container)
    let candidates = marked.candidates()
    #expect(Set(candidates.map(\.name)) == ["newest", "oldest", "middle"])
    let plan = PurgePlanner.plan(candidates, free: volume.free, target: 4 << 20)
    #expect(plan.map(\.name) == ["oldest", "middle"])
    for file in plan { #expect(marked.remove(file)) }
    #expect(throws: Never.self) { try volume.write("more", bytes: 4 << 20) }
    #expect(Files.exists(own) && Files.exists(changed) && Files.exists(volume.container + "/Caches/newest"))
    // Gone once, and never what has its name since.
    #expect(!marked.remove(plan[0]))
    #expect(PurgePlanner.plan(marked.candidates(), free: 0, target: .max).map(\.name) == ["newest"])
  }

  @Test(
    "What lost its mark since it was found, or lies behind a link by now, isn't purged",
    .enabled(if: FullVolume.keepsMarks, "needs root, and attributes of users on tmpfs (kernel 6.6)"))
  func exchanged() throws {
    let volume = try FullVolume()
    let file = try volume.write("Caches/deep/file", bytes: 10, markedAt: 1)
    let marked = MarkedFiles(root: volume.container)
    let found = try #require(marked.candidates().first)
    rename(volume.container + "/Caches", volume.container + "/Moved")
    symlink("\(volume.container)/Moved", volume.container + "/Caches")
    #expect(!marked.remove(found))
    unlink(volume.container + "/Caches")
    rename(volume.container + "/Moved", volume.container + "/Caches")
    try Data(repeating: 8, count: 10).write(to: URL(fileURLWithPath: file))
    #expect(!marked.remove(found) && Files.exists(file))
  }

  @Test(
    "F-53 what an app may have open stays while it is connected, and goes when there is no room for it [B59]",
    .enabled(if: FullVolume.keepsMarks, "needs root, and attributes of users on tmpfs (kernel 6.6)"))
  func connected() async throws {
    let volume = try FullVolume()
    let paths = ServicePaths(state: volume.path + "/state")
    let service = try AssetService(.init(paths: paths))
    await service.start()
    try await service.listen()
    let marked = try await service.placeAppWithMarkedFile()
    let shortage = SpaceShortage(
      directory: volume.path, device: try Files.identity(of: marked).device, need: 1, free: 0, floor: 0, purgeUntil: 1)
    do {
      let app = try ServiceConnection.connect(to: paths.socket)
      defer { withExtendedLifetime(app) {} }
      #expect(try await eventually { await service.isConnected(PurgingTests.app) })
      #expect(await !service.makeRoom(shortage) && Files.exists(marked))
    }
    #expect(try await eventually { await !service.isConnected(PurgingTests.app) })
    #expect(await service.makeRoom(shortage) && !Files.exists(marked))
    await service.stop()
  }

  fileprivate static let app = "com.example.a"

  @Test("An undelivered file stays with its reason, is explained, and goes when there is no room for it")
  func undelivered() async throws {
    let folder = NSTemporaryDirectory() + "undelivered-\(UUID().uuidString)"
    defer { Files.removeTree(folder) }
    let service = try AssetService(.init(paths: ServicePaths(state: folder)))
    await service.start()
    let value = DownloadValue(
      identifier: "session", uniqueIdentifier: UUID().uuidString, url: "https://example.com/session",
      applicationGroupIdentifier: "group.a", fileSize: 100)
    let path = try await service.keepUndelivered(value, of: "com.example.a")
    guard case .success(.downloadList(let listed)) = await service.perform(.downloads(app: nil)) else {
      Issue.record("no list")
      return
    }
    #expect(listed.map(\.state) == ["undelivered"])
    guard case .success(.explanation(let why)) = await service.perform(.explain(subject: value.uniqueIdentifier)) else {
      Issue.record("no explanation")
      return
    }
    #expect(why.code == "undelivered" && why.data["path"] == path)

    let device = try Files.identity(of: path).device
    func shortage(_ need: Int64) -> SpaceShortage {
      SpaceShortage(directory: folder, device: device, need: need, free: 1000, floor: 0, purgeUntil: need)
    }
    // There is enough: nothing goes.
    await service.makeRoom(shortage(1000))
    #expect(Files.exists(path))
    await service.makeRoom(shortage(1050))
    #expect(!Files.exists(path))
    guard case .success(.downloadList(let left)) = await service.perform(.downloads(app: nil)) else {
      Issue.record("no list")
      return
    }
    #expect(left.isEmpty)
    await service.stop()
  }
}

extension AssetService {
  /// Of an app that is known, in the only group that it has.
  fileprivate func placeAppWithMarkedFile() throws -> String {
    parts.catalog.remember(
      PlacedApp(
        description: AppDescription(
          identifier: PurgingTests.app, version: "1", build: "1", name: "A", bundleName: "A.app", executable: "A",
          appGroups: ["group.a"], isManaged: false, usesAppleHosting: false, extensionPath: "E",
          extensionIdentifier: "e", extensionAppGroups: []),
        path: "/nowhere/1/A.app"))
    try Containers(root: configuration.paths.groups).prepare("group.a")
    let path = parts.catalog.plan.container(of: "group.a") + "/file"
    try Data([1]).write(to: URL(fileURLWithPath: path))
    _ = try PurgeMark.set(on: OwnedDescriptor.open(path, O_RDONLY))
    return path
  }

  /// Whoever is connected is that app.
  fileprivate func isConnected(_ app: String) -> Bool {
    for id in parts.clients.clients.keys { parts.clients[id]?.identity = .app(app) }
    return !parts.clients.clients.isEmpty
  }

  /// As it is after the third end of its recipient.
  fileprivate func keepUndelivered(_ value: DownloadValue, of app: String) throws -> String {
    try Containers(root: configuration.paths.groups).prepare(value.applicationGroupIdentifier)
    let path = parts.catalog.plan.path(of: value)
    try Data(repeating: 1, count: 100).write(to: URL(fileURLWithPath: path))
    parts.downloads.insert(value, of: app)
    parts.downloads[app]?[value.uniqueIdentifier]?.isUndelivered = true
    return path
  }
}
