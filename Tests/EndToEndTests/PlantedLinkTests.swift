import Foundation
import PluginHost
import TestSupport
import Testing

/// What a plugin leaves in a folder that it may write to, for the next run to follow.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5))) struct PlantedLinkTests {
  /// A folder with a secret, and a container in which one run of a plugin has put links to it.
  private final class Scene {
    let folder: String
    let container: String

    init() throws {
      folder = try LibraryTests.folder()
      container = folder + "/g"
      for name in ["g", "g/real", "secret"] {
        try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
      }
      try Data("{}".utf8).write(to: URL(fileURLWithPath: folder + "/secret/file"))
      try LibraryTests.compile(
        """
        #include <errno.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int plant(const char *target, const char *name) {
          char path[4096];
          snprintf(path, sizeof path, "%s/%s", getenv("HOME"), name);
          unlink(path);
          return symlink(target, path) < 0 ? errno : 0;
        }
        """, "-o plant.so", in: folder)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func plant(_ target: String, _ name: String) throws {
      let finished = try Workspace.run(
        ["call", folder + "/plant.so", "plant", "i32(cstring,cstring)", target, name, "--container", container])
      #expect(finished.output == "0\n", "\(finished)")
    }
  }

  private static func expectRefused(_ link: String, _ arguments: [String], _ label: String) throws {
    let end = try Workspace.run(arguments)
    #expect(end.status == 64 && end.output.isEmpty, "\(label): \(end)")
    #expect(
      end.errors.contains("leads through the symbolic link '\(link)' in a folder that plugins may write to"),
      "\(label): \(end)")
  }

  @Test("the report of a denied link says that a plugin may have made it, and offers no line that a run would refuse")
  func remedy() throws {
    let scene = try Scene()
    let link = scene.container + "/done.bin"
    try scene.plant("/etc/hostname", "done.bin")
    let end = try Workspace.run(["call", "libc.so.6", "open", "i32(cstring,i32)", link, "0", "--observe"])
    #expect(
      end.errors.contains("the symbolic link 'done.bin' on the way lies in a folder that plugins may write to"),
      "\(end)")
    #expect(end.errors.contains("grant that by its own name") && !end.errors.contains("read: [\(link)]"), "\(end)")
  }

  @Test func noRunFollowsWhatAnEarlierOneLeft() throws {
    let scene = try Scene()
    let (folder, g) = (scene.folder, scene.container)
    try scene.plant(folder + "/secret/file", "done.bin")
    try scene.plant(folder + "/secret", "sub")
    let plugin = Workspace.hostile + "/good.so"
    let run = ["run", plugin, "--request", "install", "--manifest"]
    let plain = folder + "/secret/file"
    // None of these runs is told that the folder is a plugin's.
    try Self.expectRefused("done.bin", run + [plain, "--finished", "a=\(g)/done.bin"], "finished")
    try Self.expectRefused("sub", run + [plain, "--finished", "a=\(g)/sub/file"], "a folder on the way")
    try Self.expectRefused("done.bin", run + ["\(g)/done.bin"], "manifest")
    try Self.expectRefused("sub", run + [plain, "--container", "\(g)/sub"], "container")
    try Self.expectRefused(
      "done.bin", ["call", "libc.so.6", "strlen", "u64(bytes)", "@\(g)/done.bin"], "argument")
    try scene.plant(plugin, "lib.so")
    try Self.expectRefused("lib.so", ["call", "\(g)/lib.so", "f", "void()"], "library")
    let policy = try Workspace.temporaryFile("version: 1\nread: [\(g)/sub]\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    try Self.expectRefused("sub", ["call", "libc.so.6", "abs", "i32(i32)", "5", "--policy", policy], "grant")
  }

  /// The same names without a link, and links where no plugin was.
  @Test func whatIsNoLinkIsTaken() throws {
    let scene = try Scene()
    try scene.plant("nowhere", "dangling")
    let file = scene.container + "/real/file"
    try Data("x".utf8).write(to: URL(fileURLWithPath: file))
    _ = try FinishedFile(opening: file)
    let link = scene.folder + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    _ = try FinishedFile(opening: link)
    // Unless this very run's plugin may write there.
    #expect(throws: HostError.self) { _ = try FinishedFile(opening: link, container: scene.folder) }
    let end = try Workspace.run(
      ["call", "libc.so.6", "abs", "i32(i32)", "5", "--container", scene.container + "/real"])
    #expect(end.output == "5\n", "\(end)")
  }

  @Test func onlyFilesAreHandedOver() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(mkfifo(folder + "/fifo", 0o600) == 0)
    #expect(throws: HostError.self) { _ = try FinishedFile(opening: folder + "/fifo") }
    #expect(throws: HostError.self) { _ = try FinishedFile(opening: folder) }
    #expect(throws: HostError.self) { _ = try FinishedFile(opening: folder + "/nothing") }
  }
}
