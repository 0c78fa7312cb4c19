import Foundation
import Glibc
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Kernel objects that the host counts itself: those that are held at one time count, and not those of the whole run.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct HeldObjectsTests {
  private static let source = """
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <sys/epoll.h>
    #include <sys/eventfd.h>
    #include <unistd.h>
    static int lock(int file, int kind, long at) {
      struct flock wanted = {.l_type = kind, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
      return fcntl(file, F_SETLK, &wanted);
    }
    static int open_file(void) { return open("/tmp/locked", O_RDWR | O_CREAT, 0600); }
    int locks_given_back(int turns) {
      int file = open_file(), failed = 0;
      for (int turn = 0; turn < turns; turn++)
        failed += lock(file, F_WRLCK, 0) != 0 || lock(file, F_UNLCK, 0) != 0;
      return failed;
    }
    int locks_kept(int turns) {
      int file = open_file();
      for (int turn = 0; turn < turns; turn++)
        if (lock(file, F_WRLCK, 2L * turn)) return turn;
      return turns;
    }
    int watches_given_back(int turns) {
      int epoll = epoll_create1(0), event = eventfd(0, 0), failed = 0;
      struct epoll_event wanted = {.events = EPOLLIN};
      for (int turn = 0; turn < turns; turn++)
        failed += epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted) || epoll_ctl(epoll, EPOLL_CTL_DEL, event, 0);
      return failed;
    }
    /* Each watches the same files. */
    int watches_kept(int turns) {
      int files[512], epolls[64], count = 0;
      for (int index = 0; index < 512; index++) files[index] = eventfd(0, 0);
      struct epoll_event wanted = {.events = EPOLLIN};
      for (int outer = 0; outer < 64; outer++) {
        epolls[outer] = epoll_create1(0);
        for (int index = 0; index < 512; index++, count++)
          if (count == turns || epoll_ctl(epolls[outer], EPOLL_CTL_ADD, files[index], &wanted)) return count;
      }
      return count;
    }
    """

  /// Without a memory cgroup, as an ordinary user has it.
  private func run(_ symbol: String, _ turns: Int32) async throws -> (value: Int64?, report: RunReport) {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(Self.source, "-o a.so", in: folder)
    var policy = Policy(limits: Limits(wallTime: .seconds(120)))
    policy.limits.openFiles = 700
    policy.limits.cpu = .seconds(30)
    var options = PluginHost.LoadOptions()
    options.withoutWalls = [.cgroup]
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load("\(folder)/a.so", policy: policy, options: options)
    let result = try? await plugin.call(symbol, "i32(i32)", .integer(Int64(turns)))
    let report = await plugin.end()
    guard case .signed(let value)? = result?.value else { return (nil, report) }
    return (value, report)
  }

  @Test("what is given back can be had again, however often", arguments: ["locks_given_back", "watches_given_back"])
  func givenBack(_ symbol: String) async throws {
    let turns: Int32 = symbol == "locks_given_back" ? 6000 : 20_000
    let (failed, report) = try await run(symbol, turns)
    // A host that isn't root may not look at what its plugin has open, and the kernel lists locks alone elsewhere.
    let isCounted = symbol == "locks_given_back" || geteuid() == 0
    #expect(failed == (isCounted ? 0 : Int64(turns) - 16_384), "\(report.outcome) \(report.denials)")
    #expect(report.denials.isEmpty == isCounted)
  }

  @Test(
    "what is kept is refused beyond its limit",
    arguments: [("locks_kept", "fcntl", 8192), ("watches_kept", "epoll_ctl", 16_384)])
  func kept(_ symbol: String, _ call: String, _ limit: Int64) async throws {
    let (count, report) = try await run(symbol, 32_768)
    // Each thread of its process may be on its way into one more, a lock may leave two, and a list that changes while it is read
    // may give some twice.
    #expect(try #require(count) <= limit && count ?? 0 >= limit * 9 / 10, "\(count ?? -1): \(report.outcome)")
    #expect(report.denials.contains { $0.wall == "limits" && $0.operation == call })
  }
}
