import Foundation
import LinuxSystem
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct RemoveTreeTests {
  private func folder() throws -> String {
    try Files.temporaryDirectory(in: ProcessFolder.path, prefix: "remove-")
  }

  private func make(_ path: String, mode: Int = 0o700) throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
  }

  private func removes(_ folder: String) {
    Files.removeTree(folder)
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test func removesWhatIsNamedLikeWhatItMoves() throws {
    let folder = try folder()
    for index in 0..<50 {
      try make("\(folder)/.removing-\(index)/x/y")
      try Data().write(to: URL(fileURLWithPath: "\(folder)/.removing-\(index)/x/f"))
    }
    removes(folder)
  }

  @Test func removesWhatIsClosedToItsOwner() throws {
    let folder = try folder()
    try make("\(folder)/a/b/c")
    try Data().write(to: URL(fileURLWithPath: "\(folder)/a/b/c/f"))
    for path in ["a/b/c", "a/b", "a", ""] { #expect(chmod("\(folder)/\(path)", 0) == 0) }
    removes(folder)
  }

  @Test func followsNoLink() throws {
    let folder = try folder()
    let other = try self.folder()
    defer { try? FileManager.default.removeItem(atPath: other) }
    try Data().write(to: URL(fileURLWithPath: other + "/kept"))
    #expect(chmod(other, 0o755) == 0)
    try make("\(folder)/a")
    for path in ["link", "a/link"] {
      try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(path)", withDestinationPath: other)
    }
    #expect(chmod("\(folder)/a", 0o500) == 0)
    removes(folder)
    #expect(FileManager.default.fileExists(atPath: other + "/kept"))
    let mode = try FileManager.default.attributesOfItem(atPath: other)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o755, "not even its mode is changed")
  }

  @Test func removesAFileAndNothing() throws {
    let path = try folder() + "/file"
    try Data().write(to: URL(fileURLWithPath: path))
    removes(path)
    removes(path)
  }
}
