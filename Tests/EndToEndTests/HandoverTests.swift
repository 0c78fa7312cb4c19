import AssetModel
import Foundation
import LinuxSystem
import PluginHost
import Sandbox
import TestSupport
import Testing

@testable import LinuxSystem

/// A finished file is handed over by moving it, and the host knows what became of it (B55, B56).
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct HandoverTests {
  private struct Scene {
    var extensions: ExtensionScene
    var path: String { extensions.folder + "/lease/file" }
    var taken: String { extensions.folder + "/one/taken" }
    let inode: UInt64
    /// Whether the filesystem keeps marks.
    let mark: PurgeMark.State

    init() throws {
      extensions = try ExtensionScene()
      let path = extensions.folder + "/lease/file"
      try Data("content".utf8).write(to: URL(fileURLWithPath: path))
      mark = try PurgeMark.set(on: OwnedDescriptor.open(path, O_RDONLY)) ? .marked : .unavailable
      inode = try Files.identity(of: path).inode
    }

    func hand(
      _ behaviour: String, group: String = "group.one", ifLeft: Handover.LeftFile = .giveBackAfterFailure
    ) async throws -> (Handover, RunReport) {
      let plugin = try await extensions.load()
      let handover = try await plugin.downloadFinished(
        ExtensionScene.download(behaviour, group: group), moving: path, ifLeft: ifLeft)
      return (handover, await plugin.end())
    }

    func remains() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: extensions.folder + "/one").sorted()
    }

    func state(_ path: String) throws -> PurgeMark.State {
      try PurgeMark.state(of: OwnedDescriptor.open(path, O_RDONLY))
    }
  }

  @Test(
    "B55, B56: a file that the extension moves is the same inode, with its mark", arguments: ["take", "take-crash"])
  func isMoved(behaviour: String) async throws {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    let (handover, report) = try await scene.hand(behaviour)
    #expect(handover.file == .moved && !handover.isGivenBack)
    #expect((handover.failure?.report?.outcome.kind == .crashed) == (behaviour == "take-crash"))
    #expect(report.messages.contains("inode \(scene.inode)"), "\(report.messages)")
    #expect(report.messages.first?.hasSuffix("/film.mp4") == true)
    #expect(try Files.identity(of: scene.taken).inode == scene.inode)
    #expect(try scene.state(scene.taken) == scene.mark)
    #expect(!FileManager.default.fileExists(atPath: scene.path))
    #expect(try scene.remains() == ["taken"])
  }

  @Test("B55: what the extension leaves is deleted, or given back where that is wished", arguments: [false, true])
  func isLeft(givesBack: Bool) async throws {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    let handover = try await scene.hand("leave", ifLeft: givesBack ? .giveBack : .delete).0
    #expect(handover.file == .left && handover.isGivenBack == givesBack && handover.failure == nil)
    #expect(FileManager.default.fileExists(atPath: scene.path) == givesBack)
    #expect(try scene.remains() == [])
  }

  @Test("a file that a crashed extension left is given back as it was, to be offered again") func survivesACrash()
    async throws
  {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    for _ in 0..<3 {
      let handover = try await scene.hand("leave-crash").0
      #expect(handover.file == .left && handover.isGivenBack && handover.failure != nil)
      #expect(try Files.identity(of: scene.path).inode == scene.inode)
      #expect(try scene.state(scene.path) == scene.mark)
    }
    #expect(try await scene.hand("take").0.file == .moved)
  }

  @Test(
    "whatever else the extension makes of the file is told apart",
    arguments: [
      ("delete", .moved), ("link", .moved), ("link-crash", .moved), ("folder", .moved), ("folder-crash", .moved),
      ("incoming-crash", .moved), ("exchange-crash", .moved), ("write", .changed), ("write-crash", .changed),
    ] as [(String, Handover.File)])
  func isToldApart(behaviour: String, file: Handover.File) async throws {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    let (handover, report) = try await scene.hand(behaviour)
    #expect(handover.file == file && !handover.isGivenBack, "\(report.messages)")
    #expect(!FileManager.default.fileExists(atPath: scene.path))
    if file == .changed || behaviour == "delete" {
      #expect(try scene.remains() == [])
    } else {
      let found = try FileManager.default.subpathsOfDirectory(atPath: scene.extensions.folder + "/one").contains {
        try Files.identity(of: "\(scene.extensions.folder)/one/\($0)").inode == scene.inode
      }
      #expect(found, "the extension has it")
    }
  }

  @Test("a file goes to the container of its group, and to none where the run has none") func followsTheGroup()
    async throws
  {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    await #expect { _ = try await scene.hand("take", group: "group.foreign") } throws: { ExtensionScene.isUsage($0) }
    #expect(try Files.identity(of: scene.path).inode == scene.inode)
    #expect(try await scene.hand("take", group: "group.two").0.file == .moved)
    #expect(try Files.identity(of: scene.extensions.folder + "/two/taken").inode == scene.inode)
  }

  @Test("a copy goes to the container of its group, too") func copiesToTheGroup() async throws {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    let plugin = try await scene.extensions.load()
    try await plugin.downloadFinished(ExtensionScene.download("take", group: "group.two"), file: scene.path)
    _ = await plugin.end()
    let copy = scene.extensions.folder + "/two/taken"
    #expect(try Files.identity(of: copy).inode != scene.inode)
    #expect(try scene.state(copy) != .marked)
  }

  @Test("a file on another filesystem isn't moved, and stays where it is", .withAnotherFilesystem)
  func staysOnItsFilesystem() async throws {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    let elsewhere = "/dev/shm/outrider-test-\(UUID().uuidString)"
    try Data("content".utf8).write(to: URL(fileURLWithPath: elsewhere))
    defer { unlink(elsewhere) }
    let plugin = try await scene.extensions.load()
    await #expect {
      _ = try await plugin.downloadFinished(ExtensionScene.download("take"), moving: elsewhere)
    } throws: {
      ExtensionScene.isUsage($0, "another filesystem")
    }
    #expect(FileManager.default.fileExists(atPath: elsewhere))
    _ = await plugin.end()
  }

  @Test("what isn't a file is refused, and a link isn't followed", arguments: ["link", "folder", "none"])
  func refusesOthers(name: String) async throws {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    let lease = scene.extensions.folder + "/lease"
    try FileManager.default.createSymbolicLink(atPath: lease + "/link", withDestinationPath: "file")
    try FileManager.default.createDirectory(atPath: lease + "/folder", withIntermediateDirectories: false)
    let plugin = try await scene.extensions.load()
    await #expect {
      _ = try await plugin.downloadFinished(ExtensionScene.download("take"), moving: "\(lease)/\(name)")
    } throws: {
      ExtensionScene.isInput($0)
    }
    #expect(try Files.identity(of: scene.path).inode == scene.inode)
    _ = await plugin.end()
  }

  @Test("a call that never began gives the file back, and says why") func givesBackWhenTheRunIsOver() async throws {
    let scene = try Scene()
    defer { scene.extensions.remove() }
    let plugin = try await scene.extensions.load()
    await #expect(throws: HostError.self) {
      try await plugin.downloadFailed(ExtensionScene.download("keep-crash"), error: ExtensionScene.error)
    }
    let handover = try await plugin.downloadFinished(ExtensionScene.download("take"), moving: scene.path)
    #expect(handover.file == .left && handover.isGivenBack && handover.failure != nil)
    #expect(try Files.identity(of: scene.path).inode == scene.inode)
    _ = await plugin.end()
  }
}

extension Trait where Self == ConditionTrait {
  fileprivate static var withAnotherFilesystem: Self {
    .enabled("needs a temporary folder on another filesystem than /dev/shm") {
      try Files.identity(of: "/dev/shm").device != Files.identity(of: NSTemporaryDirectory()).device
    }
  }
}
