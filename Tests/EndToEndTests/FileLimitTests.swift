import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// `fileSize` of a policy's limits.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct FileLimitTests {
  private static let source = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static int target(void) {
      char path[512];
      snprintf(path, sizeof path, "%s/file", getenv("HOME"));
      return open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    }
    /* Bytes that were written before it failed, and why, by errno's number. */
    int fill(const char *how) {
      static char bytes[65536];
      int file = target(), count = 0;
      if (!strcmp(how, "truncate")) return ftruncate(file, 3 << 20) < 0 ? -errno : 0;
      while (count < 3 << 20) {
        ssize_t done = !strcmp(how, "pwrite") ? pwrite(file, bytes, sizeof bytes, count) : write(file, bytes, sizeof bytes);
        if (done < 0) return -errno;
        count += done;
      }
      return count;
    }
    /* By a program: its exit status. */
    int program(const char *path) {
      if (target() < 0) return -1;
      pid_t child = vfork();
      if (child == 0) { execl(path, "filler", (char *)0); _exit(9); }
      int status = 0;
      waitpid(child, &status, 0);
      return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    }
    """

  private struct Scene {
    let folder: String

    init() throws {
      folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try LibraryTests.compile(FileLimitTests.source, "-o filler.so", in: folder)
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
  }

  private static func policy(_ bytes: Int) -> Policy {
    var policy = Policy()
    policy.limits.fileSize = bytes
    return policy
  }

  @Test(
    "a file that was to become longer than the limit is in the report, whichever call it was",
    arguments: ["write", "pwrite", "truncate"]) func isReported(how: String) async throws
  {
    let scene = try Scene()
    defer { scene.remove() }
    let host = try Workspace.host()
    defer { host.stop() }
    func fill(_ bytes: Int) async throws -> (CallValue, RunReport) {
      let plugin = try await host.load("\(scene.folder)/filler.so", policy: Self.policy(bytes))
      let value = try await plugin.call("fill", "i32(cstring)", .text(how)).value
      return (value, await plugin.end())
    }
    let (value, report) = try await fill(1 << 20)
    #expect(value == .signed(Int64(-EFBIG)))
    let denial = try #require(report.denials.first, "\(report)")
    #expect(report.denials.count == 1 && report.outcome.kind == .returned)
    #expect((denial.wall, denial.operation, denial.target) == ("limits", "write", "1048576 bytes in a file"))
    let (enough, calm) = try await fill(3 << 20)
    #expect(enough == .signed(how == "truncate" ? 0 : 3 << 20) && calm.denials.isEmpty, "\(calm.denials)")
  }

  @Test("a policy that refuses the call by which it is told, or ends a run for it, has it told all the same")
  func isToldUnderRules() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let host = try Workspace.host()
    defer { host.stop() }
    var policy = Self.policy(1 << 20)
    policy.systemCalls.onDenied["fallocate"] = .kill
    policy.systemCalls.refused.insert("fallocate")
    let plugin = try await host.load("\(scene.folder)/filler.so", policy: policy)
    #expect(try await plugin.call("fill", "i32(cstring)", "write").value == .signed(Int64(-EFBIG)))
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned && report.denials.map(\.operation) == ["write"], "\(report)")
  }

  @Test("recording raises the limit until the run has what it writes, and the command names the line")
  func isRecorded() throws {
    let scene = try Scene()
    defer { scene.remove() }
    let (base, recorded) = (scene.folder + "/base.yaml", scene.folder + "/recorded.yaml")
    try "version: 2\nlimits: {fileSize: 100KiB}\n".write(toFile: base, atomically: true, encoding: .utf8)
    let call = ["\(scene.folder)/filler.so", "fill", "i32(cstring)", "write"]
    let denied = try Workspace.run(["call", "--policy", base] + call)
    #expect(denied.errors.contains("policy: limits: {fileSize: 201KiB}  # files twice as long"), "\(denied)")
    let end = try Workspace.run(["policy", "record", "--output", recorded, "call", "--policy", base] + call)
    #expect(end.status == 0, "\(end)")
    let proof = try Workspace.run(["call", "--policy", recorded] + call)
    #expect(proof.status == 0 && proof.output == "3145728\n" && !proof.errors.contains("denied"), "\(proof)")
  }

  @Test("a program that a plugin starts is answered EFBIG, and isn't ended", .withMemoryCgroup)
  func programGoesOn() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let source = """
      #include <errno.h>
      #include <fcntl.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <unistd.h>
      int main(void) {
        char path[512];
        snprintf(path, sizeof path, "%s/own", getenv("HOME"));
        int file = open(path, O_RDWR | O_CREAT, 0600);
        return file < 0 ? 2 : ftruncate(file, 3 << 20) < 0 && errno == EFBIG ? 7 : 3;
      }
      """
    try LibraryTests.compile(source, "-o filler", in: scene.folder, isProgram: true)
    let host = try Workspace.host()
    defer { host.stop() }
    var policy = Self.policy(1 << 20)
    policy.processes = 1
    policy.executableMemory = .later
    policy.libraries = [scene.folder]
    let plugin = try await host.load("\(scene.folder)/filler.so", policy: policy)
    #expect(try await plugin.call("program", "i32(cstring)", .text("\(scene.folder)/filler")).value == .signed(7))
    _ = await plugin.end()
  }
}
