import AssetStore
import Foundation
import LinuxSystem
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ContainerTests {
  static func rejectionReason(_ body: () throws -> Void) -> ContainerProblem? {
    do {
      try body()
      return nil
    } catch StoreError.container(_, let why) {
      return why
    } catch {
      return nil
    }
  }

  @Test(
    arguments: [
      "", ".", "..", "../x", "a/b", "a\0b", ".hidden", "ü", "a b", "\u{202e}a", String(repeating: "a", count: 65_536),
    ].map(Abbreviated.init))
  func noSuchNameReachesTheDisk(group: Abbreviated<String>) throws {
    let folder = try AssetStoreTests.Folder()
    #expect(Self.rejectionReason { try Containers(root: folder.path).prepare(group.value) } == .invalidIdentifier)
    #expect(try Files.names(in: folder.path).isEmpty)
  }

  @Test func namesEqualButForCaseAreTwo() throws {
    let folder = try AssetStoreTests.Folder()
    try Containers(root: folder.path).prepare("group.A")
    try Containers(root: folder.path).prepare("group.a")
    #expect(try Files.names(in: folder.path) == ["group.A", "group.a"])
  }

  @Test func whatIsPlantedIsRefused() throws {
    let folder = try AssetStoreTests.Folder()
    let containers = Containers(root: folder.path)
    let files = FileManager.default
    symlink("/tmp", "\(folder.path)/linked")
    #expect(Self.rejectionReason { try containers.prepare("linked") } != nil)
    _ = files.createFile(atPath: "\(folder.path)/file", contents: nil)
    #expect(Self.rejectionReason { try containers.prepare("file") } == .notADirectory)
    mkdir("\(folder.path)/open", 0o700)
    chmod("\(folder.path)/open", 0o777)
    #expect(Self.rejectionReason { try containers.prepare("open") } == .writableByOthers(mode: 0o777))
    try containers.prepare("whole")
    for name in try Files.names(in: "\(folder.path)/whole") {
      let planted = "\(folder.path)/planted-\(name)"
      mkdir(planted, 0o700)
      symlink("/tmp", "\(planted)/\(name)")
      #expect(Self.rejectionReason { try containers.prepare("planted-\(name)") } == .notADirectory)
      #expect(try Files.names(in: "\(folder.path)/whole") == ["container", "lease"])
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a folder away")) func foreignContainersAreRefused() throws {
    let folder = try AssetStoreTests.Folder()
    mkdir("\(folder.path)/foreign", 0o700)
    chown("\(folder.path)/foreign", 65534, 65534)
    let rejectionReason = Self.rejectionReason { try Containers(root: folder.path).prepare("foreign") }
    #expect(rejectionReason == .foreignOwner(uid: 65534))
  }
}
