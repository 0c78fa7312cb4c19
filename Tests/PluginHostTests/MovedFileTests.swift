import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import PluginHost

/// A process that is killed while an extension has a moved file leaves it in the container: the next one finds it.
@Suite(.timeLimit(.minutes(1))) struct MovedFileTests {
  private final class Scene {
    let folder: String
    let inode: UInt64
    var container: String { folder + "/container" }
    var path: String { folder + "/lease/file" }

    init() throws {
      folder = try Files.temporaryDirectory(in: NSTemporaryDirectory(), prefix: "outrider-moved-")
      for name in ["container", "lease"] {
        try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: false)
      }
      try Data("content".utf8).write(to: URL(fileURLWithPath: folder + "/lease/file"))
      inode = try Files.identity(of: folder + "/lease/file").inode
    }

    deinit { Files.removeTree(folder) }

    func move() throws -> MovedFile {
      let place = GroupContainers.Place(group: "", path: container, view: "/container", identity: nil)
      return try MovedFile(moving: path, as: "film.mp4", into: place, writable: [])
    }

    /// Moves it, and lets go without a word, as a killed process does.
    func abandon() throws { _ = try move() }

    func takeBack() throws -> Bool { try PluginHost.takeBack(inode: inode, from: container, to: path) }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: container) }

    func shell(_ command: String) throws {
      let shell = try TestProcess.run(
        URL(fileURLWithPath: "/bin/sh"), arguments: ["-ec", "cd '\(container)'; \(command)"])
      shell.waitUntilExit()
      #expect(shell.terminationStatus == 0, "\(command)")
    }
  }

  @Test("a file that no client took is taken back as the same file, and only once") func takesBack() throws {
    let scene = try Scene()
    try scene.abandon()
    #expect(!FileManager.default.fileExists(atPath: scene.path))
    #expect(try scene.takeBack())
    #expect(try Files.identity(of: scene.path).inode == scene.inode)
    #expect(try scene.names() == [])
    #expect(try !scene.takeBack())
  }

  @Test("no host sweeps a file that is the only one") func isNotSwept() throws {
    let scene = try Scene()
    try scene.abandon()
    StagedFile.sweep(scene.container)
    #expect(try scene.takeBack())
  }

  @Test(
    "a file that the extension had taken isn't",
    arguments: ["mv .incoming/*/* taken", "ln .incoming/*/* taken", "mv .incoming/moved-* taken", "mv .incoming taken"])
  func respectsWhatIsTaken(command: String) throws {
    let scene = try Scene()
    try scene.abandon()
    try scene.shell(command)
    #expect(try !scene.takeBack())
    #expect(try scene.names().filter { $0 != IncomingFolder.name } == ["taken"])
    #expect(!FileManager.default.fileExists(atPath: scene.path))
  }

  @Test(
    "whatever is planted in its place is no file of ours",
    arguments: [
      "d=$(ls -d .incoming/*) && rm -r $d && ln -s /etc $d",
      "d=$(ls -d .incoming/*) && rm -r $d && echo x > $d", "rm -r .incoming && ln -s /etc .incoming",
      "rm .incoming/*/* && ln -s /etc/passwd $(ls -d .incoming/*)/film.mp4",
    ])
  func followsNoLinks(command: String) throws {
    let scene = try Scene()
    try scene.abandon()
    try scene.shell(command)
    #expect(try !scene.takeBack())
    #expect(!FileManager.default.fileExists(atPath: scene.path))
    #expect(FileManager.default.fileExists(atPath: "/etc/passwd"))
  }

  @Test("while a host is handing it over, no other takes it back") func respectsTheOwner() throws {
    let scene = try Scene()
    let moved = try scene.move()
    #expect(throws: HostError.self) { try scene.takeBack() }
    #expect(moved.giveBack(after: nil).isGivenBack)
    #expect(try Files.identity(of: scene.path).inode == scene.inode)
  }

  @Test("nothing is replaced where the file goes back to") func replacesNothing() throws {
    let scene = try Scene()
    let moved = try scene.move()
    try Data("other".utf8).write(to: URL(fileURLWithPath: scene.path))
    let handover = moved.giveBack(after: nil)
    #expect(handover.file == .left && !handover.isGivenBack)
    #expect(try String(contentsOfFile: scene.path, encoding: .utf8) == "other")
  }

  @Test("taking back replaces nothing, and can be tried again") func keepsWhatCannotGoBack() throws {
    let scene = try Scene()
    try scene.abandon()
    try Data("other".utf8).write(to: URL(fileURLWithPath: scene.path))
    #expect(throws: HostError.self) { try scene.takeBack() }
    unlink(scene.path)
    #expect(try scene.takeBack())
  }

  @Test("a folder that a plugin made beforehand doesn't keep a file out") func clearsTheWay() throws {
    let scene = try Scene()
    try scene.shell("mkdir -p .incoming/moved-\(scene.inode)/deep && touch .incoming/moved-\(scene.inode)/film.mp4")
    let moved = try scene.move()
    #expect(moved.delete() == .left)
    #expect(try scene.names() == [])
  }
}
