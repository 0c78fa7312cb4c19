import Foundation
import Glibc
import PluginHost
import Sandbox
import Testing

/// Changes of mode and times by a descriptor name no path: which file it is, the host finds out.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct HeldFileTests {
  private static let source = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    int change(const char *how, const char *path, int flags) {
      int file = open(path, flags, 0600), result = -1;
      if (file < 0) return -errno;
      if (!strcmp(how, "fchmod")) result = fchmod(file, 0600);
      if (!strcmp(how, "set-user-id")) result = fchmod(file, 04700);
      if (!strcmp(how, "futimens")) result = futimens(file, 0);
      if (!strcmp(how, "empty")) result = syscall(SYS_utimensat, file, "", 0, 0x1000);
      if (!strcmp(how, "futimesat")) result = syscall(SYS_futimesat, file, 0, 0);
      if (result < 0) result = -errno;
      close(file);
      return result;
    }
    """

  @Test("a change by a descriptor of what is only shown read-only is reported as one by its path is") func reported()
    async throws
  {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(Self.source, "-o change.so", in: folder)
    try "x".write(toFile: "\(folder)/data", atomically: true, encoding: .utf8)
    var policy = Policy()
    policy.observesFiles = true
    policy.read = ["\(folder)/data"]
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load("\(folder)/change.so", policy: policy)
    func change(_ how: String, _ path: String, _ flags: Int32) async throws -> CallValue {
      try await plugin.call("change", "i32(cstring,cstring,i32)", .text(how), .text(path), .integer(Int64(flags))).value
    }
    let ways = ["fchmod", "futimens", "empty", "futimesat"]
    for way in ways { #expect(try await change(way, "\(folder)/data", O_RDONLY) == .signed(-Int64(EROFS)), "\(way)") }
    // Its own, what only holds a place (O_PATH), and what no policy lets it set.
    for way in ways { #expect(try await change(way, "/container/own", O_RDWR | O_CREAT) == .signed(0), "\(way)") }
    #expect(try await change("fchmod", "\(folder)/data", 0o10_000_000) == .signed(-Int64(EBADF)))
    #expect(try await change("set-user-id", "/container/own", O_RDWR) == .signed(-Int64(EPERM)))
    let report = await plugin.end()
    let files = report.denials.filter { $0.wall == "files" && $0.target == "\(folder)/data" }
    #expect(
      files.map { "\($0.operation) \($0.count)" }.sorted() == ["fchmod 1", "futimesat 1", "utimensat 2"], "\(files)")
    #expect(
      files.allSatisfy(\.writes) && !report.denials.contains { $0.target.hasPrefix("/container") }, "\(report.denials)")
    #expect(report.denials.contains { $0.wall == "seccomp" && $0.operation == "fchmod" })
  }
}
