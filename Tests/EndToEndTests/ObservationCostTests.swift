import Foundation
import TestSupport
import Testing

/// What it costs to have a plugin's files observed.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5))) struct ObservationCostTests {
  /// Seconds of a processor of a command and all that it started, as the shell that waited for it tells.
  private static func cpu(of arguments: [String]) throws -> Double {
    let script = "\"$@\" >&2 || exit; times"
    let end = try Workspace.run(["-c", script, "sh", Workspace.outrider] + arguments, program: "/bin/sh")
    #expect(end.status == 0, "\(end)")
    // The shell's own, and below it what its children used: user, system.
    let children = try #require(end.output.split(separator: "\n").last, "\(end)")
    return children.matches(of: #/(\d+)m([\d.]+)s/#).reduce(0) {
      $0 + (Double($1.output.1) ?? 0) * 60 + (Double($1.output.2) ?? 0)
    }
  }

  /// The clock grows with what else the machine does, since each observed call takes turns with others; what is computed doesn't.
  /// Without a memory cgroup the host looks at the run's memory each millisecond of that time, too.
  @Test(
    "a library that opens 10,000 files a second takes at most twice the processor's time when it is observed",
    .withMemoryCgroup)
  func twice() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <time.h>
      #include <unistd.h>
      static long now(void) {
        struct timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return time.tv_sec * 1000000000 + time.tv_nsec;
      }
      int opens(int count) {
        for (int i = 0; i < count; i++) {
          long begun = now();
          int file = open("/dev/null", O_RDONLY);
          if (file < 0) return -1;
          close(file);
          while (now() - begun < 100000) {}
        }
        return count;
      }
      """, "-O1 -o opens.so", in: folder)
    let call = ["call", "\(folder)/opens.so", "opens", "i32(i32)", "3000"]
    // One after the other, so that both have what the machine is like at that time.
    let ratios = try (0..<5).map { _ in
      let alone = try Self.cpu(of: call)
      return try Self.cpu(of: call + ["--observe"]) / alone
    }
    #expect(ratios.sorted()[2] <= 2, "\(ratios)")
  }
}
