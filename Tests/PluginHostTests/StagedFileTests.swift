import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import PluginHost

/// A finished file lies in the plugin's reach for the length of a call: whatever it makes of the folder, it goes.
@Suite(.timeLimit(.minutes(1))) struct StagedFileTests {
  @Test(arguments: [
    "", "touch beside", "mkdir -p a/b && touch a/b/c && chmod 0 a", "rm file && mkdir file && touch file/x",
  ])
  func leavesNothing(what: String) throws {
    let container = try Files.temporaryDirectory(in: NSTemporaryDirectory(), prefix: "outrider-staged-")
    defer { Files.removeTree(container) }
    let source = container + "/source"
    try Data("content".utf8).write(to: URL(fileURLWithPath: source))
    let staged = try StagedFile(copying: FinishedFile(opening: source), as: "file", into: container, host: 1)
    let folder = container + (staged.relativePath as NSString).deletingLastPathComponent
    let shell = try TestProcess.run(
      URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", "cd '\(folder)' && { \(what.isEmpty ? ":" : what); }"])
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0)
    staged.remove()
    #expect(try FileManager.default.contentsOfDirectory(atPath: container) == ["source"])
  }

  @Test("what was opened is handed over, whatever lies at its name by then") func openedOnce() throws {
    let container = try Files.temporaryDirectory(in: NSTemporaryDirectory(), prefix: "outrider-staged-")
    defer { Files.removeTree(container) }
    let (source, secret) = (container + "/source", container + "/secret")
    try Data("content".utf8).write(to: URL(fileURLWithPath: source))
    try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
    let file = try FinishedFile(opening: source)
    #expect(unlink(source) == 0 && symlink(secret, source) == 0)
    let staged = try StagedFile(copying: file, as: "file", into: container, host: 1)
    #expect(FileManager.default.contents(atPath: container + staged.relativePath) == Data("content".utf8))
    staged.remove()
  }
}
