import Foundation
import LinuxSystem
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// A part of a folder is granted less than the folder, and stays so whatever the plugin does with what is around.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct NarrowerGrantTests {
  private static let source = """
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <unistd.h>
    int move(const char *from, const char *to) { return rename(from, to) == 0 ? 0 : errno; }
    int write_to(const char *path) {
      int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
      if (file < 0) return errno;
      int result = write(file, "evil", 4) == 4 ? 0 : errno;
      close(file);
      return result;
    }
    int make(const char *path) { return mkdir(path, 0755) == 0 ? 0 : errno; }
    int take_away(const char *path) { return rmdir(path) == 0 ? 0 : errno; }
    """

  private let folder: String
  private let host: PluginHost

  init() throws {
    folder = try LibraryTests.folder()
    try LibraryTests.compile(Self.source, "-O1 -o mover.so", in: folder)
    host = try Workspace.host()
    for path in ["wide/a/b/part", "wide/other"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(path)", withIntermediateDirectories: true)
    }
    try "good".write(toFile: "\(folder)/wide/a/b/part/file", atomically: false, encoding: .utf8)
    try "mine".write(toFile: "\(folder)/wide/loose", atomically: false, encoding: .utf8)
    _ = chmod("\(folder)/wide", 0o777)
  }

  private func policy(read: [String] = [], write: [String] = [], list: [String] = []) -> Policy {
    var policy = Policy()
    (policy.read, policy.write, policy.list) = (read, write, list)
    return policy
  }

  private func text(_ path: String) -> String? { try? Files.text(of: "\(folder)/\(path)") }

  @Test("the folders around a part that may only be read can't be moved, and nothing be put in its place")
  func parents() async throws {
    defer { host.stop() }
    let wide = folder + "/wide"
    let policy = self.policy(read: [wide + "/a/b/part"], write: [wide])
    for _ in 0..<2 {
      let plugin = try await host.load(folder + "/mover.so", policy: policy)
      func move(_ from: String, _ to: String) async throws -> Int32 {
        try await plugin.call("move", "i32(cstring,cstring)", .text(wide + from), .text(wide + to)).int32
      }
      for held in ["/a", "/a/b", "/a/b/part"] {
        #expect(try await move(held, "/gone") != 0, "\(held)")
        #expect(try await move("/other", held) != 0, "\(held)")
        #expect(try await plugin.call("take_away", "i32(cstring)", .text(wide + held)).int32 == EBUSY, "\(held)")
      }
      #expect(try await plugin.call("write_to", "i32(cstring)", .text(wide + "/a/b/part/file")).int32 == EROFS)
      #expect(try await plugin.call("write_to", "i32(cstring)", .text(wide + "/a/b/part/more")).int32 == EROFS)
      // What lies beside it may be changed as ever.
      #expect(try await plugin.call("write_to", "i32(cstring)", .text(wide + "/a/b/beside")).int32 == 0)
      #expect(try await plugin.call("write_to", "i32(cstring)", .text(wide + "/a/beside")).int32 == 0)
      #expect(try await move("/a/beside", "/a/moved") == 0)
      #expect(try await move("/loose", "/other/loose") == 0)
      #expect(try await move("/other/loose", "/loose") == 0)
      // A held folder is a mount of its own (rename(2), EXDEV).
      #expect(try await move("/loose", "/a/loose") == EXDEV)
      let report = await plugin.end()
      #expect(report.outcome.kind == .returned)
      #expect(text("wide/a/b/part/file") == "good" && text("wide/a/b/beside") == "evil")
    }
  }

  @Test("a part that is a FIFO, as a plugin may have made one, keeps no run waiting") func fifo() async throws {
    defer { host.stop() }
    let wide = folder + "/wide"
    try #require(mkfifo(wide + "/a/pipe", 0o644) == 0)
    let plugin = try await host.load(
      folder + "/mover.so", policy: policy(read: [wide + "/a/pipe"], write: [wide]))
    let (from, to) = (wide + "/a/pipe", wide + "/a/other")
    #expect(try await plugin.call("move", "i32(cstring,cstring)", .text(from), .text(to)).int32 != 0)
    #expect(await plugin.end().outcome.kind == .returned)
    #expect(FileManager.default.fileExists(atPath: from) && !FileManager.default.fileExists(atPath: to))
  }

  @Test("a part that is granted less than a folder is refused where that is named by a link")
  func otherNames() async throws {
    defer { host.stop() }
    let wide = folder + "/wide"
    let link = folder + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "wide")
    for policy in [
      policy(read: [wide + "/a/b/part"], write: [link]), policy(read: [link], list: [wide + "/a"]),
      policy(read: [wide + "/a/b/part"], write: [wide + "/a", link]),
      policy(read: [wide + "/a/b/part/file"], write: [link]),
    ] {
      let error = await #expect(throws: HostError.self) { try await host.load(folder + "/mover.so", policy: policy) }
      #expect("\(error.map { "\($0)" } ?? "")".contains("to which \(link) leads"), "\(String(describing: error))")
    }
    // What is granted more, and what both name alike, is as it says.
    for policy in [
      policy(read: [link], write: [wide + "/a"]), policy(read: [link + "/a/b/part"], write: [link]),
      policy(read: [wide], write: [link]),
    ] {
      let plugin = try await host.load(folder + "/mover.so", policy: policy)
      _ = await plugin.end()
    }
  }
}
