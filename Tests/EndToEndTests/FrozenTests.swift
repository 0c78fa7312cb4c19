import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import PluginHost

/// Between its calls a plugin is stopped, and no watchdog looks at it: nothing that it has prepared lets it go on.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FrozenTests {
  private static let source = """
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <sys/time.h>
    #include <time.h>
    #include <unistd.h>
    static void *spin(void *none) { for (;;) ; return none; }
    static void nothing(int signal) {}
    static int spins(void) { pthread_t thread; return pthread_create(&thread, 0, spin, 0); }
    int timer(void) {
      struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
      struct itimerspec soon = {{0, 20000000}, {0, 20000000}};
      timer_t timer;
      // One that is ignored isn't sent again.
      signal(SIGCONT, nothing);
      if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &soon, 0);
      return spins();
    }
    int interval(void) {
      struct itimerval soon = {{0, 2000}, {0, 2000}};
      signal(SIGALRM, nothing);
      setitimer(ITIMER_REAL, &soon, 0);
      return spins();
    }
    int owner(void) {
      int ends[2];
      if (pipe2(ends, O_NONBLOCK) == 0) {
        fcntl(ends[0], F_SETOWN, getpid());
        fcntl(ends[0], F_SETSIG, SIGCONT);
        fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
      }
      return spins();
    }
    int stops(void) {
      struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
      sigaction(SIGCONT, &action, 0);
      sigaction(SIGCHLD, &action, 0);
      return spins();
    }
    """

  /// State and CPU time in ticks (proc_pid_stat(5)).
  private static func look(_ pid: Int32) throws -> (state: Substring, ticks: Int) {
    let text = try Files.text(of: "/proc/\(pid)/stat")
    let fields = text[text.index(after: try #require(text.lastIndex(of: ")")))...].split(separator: " ")
    return (fields[0], try #require(Int(fields[11])) + #require(Int(fields[12])))
  }

  /// Nanoseconds of processors that its threads had (Linux, Documentation/scheduler/sched-stats.rst).
  private static func computed(_ pid: Int32) throws -> Int {
    let tasks = "/proc/\(pid)/task"
    return try FileManager.default.contentsOfDirectory(atPath: tasks).reduce(0) { sum, task in
      let words = try Files.text(of: "\(tasks)/\(task)/schedstat").split(separator: " ")
      return try sum + #require(words.first.flatMap { Int($0) })
    }
  }

  @Test("a plugin that is stopped between its calls stays so", arguments: ["timer", "interval", "owner", "stops"])
  func staysStopped(way: String) async throws {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(Self.source, "-O1 -o frozen.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load(folder + "/frozen.so")
    #expect(try await plugin.call(way, "i32()").value == .signed(0))
    let pid = try #require(await plugin.runnerProcess())
    #expect(try await eventually { try Self.look(pid).state == "T" })
    let before = try Self.look(pid).ticks
    // Long enough for a dozen expiries, and many ticks of a thread that spins.
    for _ in 0..<100 {
      try await Task.sleep(for: .milliseconds(3))
      #expect(try Self.look(pid).state == "T")
    }
    #expect(try Self.look(pid).ticks <= before + 1)
    _ = await plugin.end()
  }

  @Test("a plugin that was let go on for a call that is refused is stopped again") func refusedCall() async throws {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(Self.source, "-O1 -o frozen.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load(folder + "/frozen.so")
    #expect(try await plugin.call("stops", "i32()").value == .signed(0))
    let pid = try #require(await plugin.runnerProcess())
    for _ in 0..<3 {
      #expect(try await plugin.call("abs", "i32(i32)", -5).int32 == 5)
      #expect(try await eventually { try Self.look(pid).state == "T" })
      await #expect(throws: HostError.self) { try await plugin.call("stops", "i32(i32)") }
      var stopped = 0
      // Its thread spins for as long as it may.
      #expect(
        try await eventually {
          let before = try Self.computed(pid)
          try await Task.sleep(for: .milliseconds(3))
          stopped = try Self.look(pid).state == "T" && Self.computed(pid) == before ? stopped + 1 : 0
          return stopped == 10
        })
    }
    _ = await plugin.end()
  }
}
