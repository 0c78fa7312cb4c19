import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import PluginHost

/// What a host has in a shared folder stays while it is at work, whether or not its process id means anything here.
@Suite(.timeLimit(.minutes(1))) struct FolderLockTests {
  private static func folder() throws -> String {
    try Files.temporaryDirectory(in: NSTemporaryDirectory(), prefix: "outrider-lock-")
  }

  @Test func isOfOneAtATime() throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    var first: FolderLock? = try FolderLock(folder)
    #expect(first?.state == .own)
    #expect(try FolderLock(folder).state == .taken)
    first = nil
    // Even where its owner is locked out of it.
    chmod(folder, 0)
    #expect(try FolderLock(folder).state == .own)
  }

  @Test func followsNoLink() throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    symlink("/", folder + "/link")
    #expect(throws: SystemCallError.self) { try FolderLock(folder + "/link") }
  }

  @Test("what an extension has locked, by the means that it has, isn't taken")
  func isNotTakenFromAnExtension() throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    let file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    var lock = Glibc.flock()
    lock.l_type = Int16(F_RDLCK)
    let setLock: Int32 = 37  // F_OFD_SETLK
    #expect(fcntl(file, setLock, &lock) == 0)
    #expect(try FolderLock(folder).state == .taken)
    // Not by closing it: a process that another test is starting has a copy until it executes its program.
    lock.l_type = Int16(F_UNLCK)
    #expect(fcntl(file, setLock, &lock) == 0)
    #expect(try FolderLock(folder).state == .own)
    close(file)
  }

  /// A host that looks between the two steps for leftovers has the folder.
  @Test func makesAnotherWhereOneIsTaken() throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    var others: [FolderLock] = []
    var made = 0
    let (name, lock) = try FolderLock.make { () throws(SystemCallError) in
      made += 1
      let path = "\(folder)/\(made)"
      mkdir(path, 0o700)
      if made == 1 { others.append(try FolderLock(path)) } else if made == 2 { rmdir(path) }
      return path
    }
    #expect(name == "\(folder)/3" && lock.state == .own)
  }

  /// The name of a process that isn't there, as that of one in another pid namespace.
  @Test func theJanitorLeavesWhatIsLocked() throws {
    let parent = try Self.folder()
    defer { Files.removeTree(parent) }
    let (live, dead) = ("\(parent)/\(Janitor.prefix)999999999-1-a", "\(parent)/\(Janitor.prefix)999999999-1-b")
    for path in [live, dead] { mkdir(path, 0o700) }
    let lock = try FolderLock(live)
    Janitor.removeFolders(in: parent)
    withExtendedLifetime(lock) { #expect(Files.exists(live) && !Files.exists(dead)) }
  }

  @Test func sweepingLeavesWhatIsLocked() throws {
    let container = try Self.folder()
    defer { Files.removeTree(container) }
    let source = container + "/source"
    try Data("content".utf8).write(to: URL(fileURLWithPath: source))
    let staged = try StagedFile(copying: FinishedFile(opening: source), as: "file", into: container, host: 7)
    mkdir(container + "/.incoming/999999999-1-1", 0o700)
    symlink("/", container + "/.incoming/999999999-1-2")
    StagedFile.sweep(container)
    #expect(Files.exists(container + staged.relativePath))
    #expect(try Files.names(in: container + "/.incoming").count == 1)
    StagedFile.remove(allOf: 8, in: container)
    #expect(Files.exists(container + staged.relativePath))
    StagedFile.remove(allOf: 7, in: container)
    #expect(try Files.names(in: container) == ["source"])
    withExtendedLifetime(staged.relativePath) {}
  }
}
