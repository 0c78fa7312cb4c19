import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import LinuxSystem

/// L14, B56: the mark survives a move, and neither a copy nor a modification.
@Suite(.withAttributes, .timeLimit(.minutes(1))) struct PurgeMarkTests {
  private final class Scene {
    let folder: String
    var path: String { folder + "/file" }

    init() throws {
      folder = try Files.temporaryDirectory(in: NSTemporaryDirectory(), prefix: "outrider-mark-")
      try Data("content".utf8).write(to: URL(fileURLWithPath: path))
      #expect(try PurgeMark.set(on: OwnedDescriptor.open(path, O_RDONLY)))
    }

    deinit { Files.removeTree(folder) }

    func state(_ path: String) throws -> PurgeMark.State {
      try PurgeMark.state(of: OwnedDescriptor.open(path, O_RDONLY))
    }

    func shell(_ command: String) throws {
      let shell = try TestProcess.run(
        URL(fileURLWithPath: "/bin/sh"), arguments: ["-ec", "cd '\(folder)'; \(command)"])
      shell.waitUntilExit()
      #expect(shell.terminationStatus == 0, "\(command)")
    }
  }

  @Test("L14: the mark goes with a file that is moved") func survivesARename() throws {
    let scene = try Scene()
    #expect(try scene.state(scene.path) == .marked)
    try scene.shell("mkdir deep && mv file deep/renamed")
    #expect(try scene.state(scene.folder + "/deep/renamed") == .marked)
    try scene.shell("chmod 600 deep/renamed; ln deep/renamed again; touch -a again")
    #expect(try scene.state(scene.folder + "/again") == .marked, "neither names, modes nor reading are its content")
  }

  @Test(
    "L14: no copy has the mark, whatever it takes along",
    arguments: ["cp file copy", "cp -a file copy", "cp --preserve=all file copy", "cat file > copy"])
  func endsWithACopy(command: String) throws {
    let scene = try Scene()
    try scene.shell(command)
    #expect(try scene.state(scene.folder + "/copy") == .unmarked)
    #expect(try scene.state(scene.path) == .marked)
  }

  @Test(
    "L14: a modified file has lost the mark",
    arguments: ["printf x >> file", "printf CONTENT | dd of=file conv=notrunc status=none", "truncate -s 3 file"])
  func endsWithAModification(command: String) throws {
    let scene = try Scene()
    try scene.shell(command)
    #expect(try scene.state(scene.path) == .unmarked)
  }

  @Test("what can't be a mark is none") func isStrict() throws {
    let identity = try Files.identity(of: "/bin/sh")
    let mark = PurgeMark(of: identity)
    #expect(PurgeMark(parsing: mark.text) == mark)
    for text in ["", "1", "1 2 3", "2 1 1 1", "1 1 1 1 1", "1 01 1 1", "1 1 1 1 ", "1 +1 1 1", "1 -1 1 1", "1  1 1 1"] {
      #expect(PurgeMark(parsing: text) == nil, "\(text)")
    }
    for change in [\PurgeMark.size, \PurgeMark.modified] {
      var other = mark
      other[keyPath: change] += 1
      #expect(other != mark)
    }
  }

  @Test("a folder and an unmarked file aren't purgeable, and the mark can be taken away") func canBeTakenAway() throws {
    let scene = try Scene()
    #expect(try scene.state(scene.folder) == .unmarked)
    #expect(throws: SystemCallError.self) { try PurgeMark.set(on: OwnedDescriptor.open(scene.folder, O_RDONLY)) }
    for _ in 0..<2 { try PurgeMark.remove(from: OwnedDescriptor.open(scene.path, O_RDONLY)) }
    #expect(try scene.state(scene.path) == .unmarked)
  }
}

extension Trait where Self == ConditionTrait {
  /// Memory filesystems have them since Linux 6.6.
  fileprivate static var withAttributes: Self {
    .enabled("needs a temporary folder whose filesystem keeps attributes of users (xattr(7))") {
      let path = NSTemporaryDirectory() + "outrider-attributes-\(UUID().uuidString)"
      defer { unlink(path) }
      return try PurgeMark.set(on: OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL))
    }
  }
}
