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
    #expect(Self.rejectionReason { _ = try Containers(root: folder.path).open(group.value) } == .invalidIdentifier)
    #expect(try Files.names(in: folder.path).isEmpty)
  }

  @Test func namesEqualButForCaseAreTwo() throws {
    let folder = try AssetStoreTests.Folder()
    _ = try Containers(root: folder.path).open("group.A")
    _ = try Containers(root: folder.path).open("group.a")
    #expect(try Files.names(in: folder.path) == ["group.A", "group.a"])
  }

  @Test func whatIsPlantedIsRefused() throws {
    let folder = try AssetStoreTests.Folder()
    let containers = Containers(root: folder.path)
    let files = FileManager.default
    symlink("/tmp", "\(folder.path)/linked")
    #expect(Self.rejectionReason { _ = try containers.open("linked") } != nil)
    _ = files.createFile(atPath: "\(folder.path)/file", contents: nil)
    #expect(Self.rejectionReason { _ = try containers.open("file") } == .notADirectory)
    mkdir("\(folder.path)/open", 0o700)
    chmod("\(folder.path)/open", 0o777)
    #expect(Self.rejectionReason { _ = try containers.open("open") } == .writableByOthers(mode: 0o777))
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a folder away")) func foreignContainersAreRefused() throws {
    let folder = try AssetStoreTests.Folder()
    mkdir("\(folder.path)/foreign", 0o700)
    chown("\(folder.path)/foreign", 65534, 65534)
    let rejectionReason = Self.rejectionReason { _ = try Containers(root: folder.path).open("foreign") }
    #expect(rejectionReason == .foreignOwner(uid: 65534))
  }

  @Test func aLeaseIsTakenOrEnds() throws {
    let folder = try AssetStoreTests.Folder()
    let container = try Containers(root: folder.path).open("group")
    let source = try OwnedDescriptor.open(container.containerPath, O_RDONLY | O_DIRECTORY)
    func plant(_ name: String) throws -> UInt64 {
      let path = "\(container.containerPath)/\(name)"
      _ = FileManager.default.createFile(atPath: path, contents: Data("x".utf8))
      return try Files.identity(of: path).inode
    }
    let first = try plant("a")
    try container.lease("a", in: source, inode: first, as: "1")
    #expect(try !container.wasMoved("1", inode: first))
    try container.endLease("1", inode: first)
    #expect(try Files.names(in: container.leasePath).isEmpty)
    #expect(try container.wasMoved("1", inode: first))
    // Nothing is replaced, and nothing but that file is taken.
    let second = try plant("b")
    let third = try plant("c")
    try container.lease("b", in: source, inode: second, as: "2")
    #expect(throws: StoreError.self) { try container.lease("c", in: source, inode: third, as: "2") }
    #expect(Self.rejectionReason { try container.lease("c", in: source, inode: 1, as: "3") } == .exchanged)
    link("\(container.containerPath)/c", "\(folder.path)/second-name")
    #expect(
      Self.rejectionReason { try container.lease("c", in: source, inode: third, as: "3") } == .hardLinked(links: 2))
    symlink("c", "\(container.containerPath)/link")
    #expect(Self.rejectionReason { try container.lease("link", in: source, inode: third, as: "3") } == .redirected)
    mkfifo("\(container.containerPath)/fifo", 0o600)
    #expect(Self.rejectionReason { try container.lease("fifo", in: source, inode: third, as: "3") } == .notARegularFile)
  }

  @Test func anExchangedContainerIsNoticed() throws {
    let folder = try AssetStoreTests.Folder()
    let container = try Containers(root: folder.path).open("group")
    try container.verify()
    try FileManager.default.moveItem(atPath: container.containerPath, toPath: "\(folder.path)/away")
    #expect(Self.rejectionReason { try container.verify() } == .exchanged)
    mkdir(container.containerPath, 0o700)
    #expect(Self.rejectionReason { try container.verify() } == .exchanged)
    rmdir(container.containerPath)
    symlink("\(folder.path)/away", container.containerPath)
    #expect(Self.rejectionReason { try container.verify() } == .notADirectory)
  }
}
