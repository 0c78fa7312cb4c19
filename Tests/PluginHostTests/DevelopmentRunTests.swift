import Sandbox
import Testing

@testable import PluginHost

/// Runs that wait for a debugger, or have no walls.
@Suite(.timeLimit(.minutes(1))) struct DevelopmentRunTests {
  @Test(
    "a load goes on when a debugger has attached and let the runner go on",
    arguments: [
      ("State:\tS (sleeping)\nTracerPid:\t0\n", false), ("State:\tt (tracing stop)\nTracerPid:\t7\n", false),
      ("State:\tS (sleeping)\nTracerPid:\t7\n", true), ("State:\tR (running)\nTracerPid:\t7\n", true), ("", false),
    ] as [(String, Bool)])
  func traced(status: String, isTraced: Bool) { #expect(DebuggerWait.isOver(status: status) == isTraced) }

  @Test("however long it waits for one, no limit ends it; then its clocks begin") func clocks() {
    var limits = Limits()
    limits.wallTime = .seconds(1)
    var watchdog = Watchdog(limits: limits, cores: 2, looksOften: true, now: .zero)
    watchdog.prepared()
    #expect(watchdog.nextTick(after: .zero) == nil && !watchdog.isAtWork)
    for hour in 1..<50 { #expect(watchdog.tick(at: .seconds(3600 * hour), cpu: .zero, memory: 1) == .none) }
    watchdog.callBegan(at: .seconds(200_000), cpu: .zero)
    #expect(watchdog.wallDeadline == .seconds(200_001))
    watchdog.prepared()
    #expect(watchdog.isAtWork)
  }

  @Test(
    "the sanitizer that is loaded first is one that the library names",
    arguments: [
      (["libc.so.6", "libasan.so.8"], "libasan.so.8"), (["libtsan.so"], "libtsan.so"),
      (["libclang_rt.asan-x86_64.so"], "libclang_rt.asan-x86_64.so"), (["libubsan.so.1", "libc.so.6"], nil),
      (["/tmp/libasan.so.8", "libasan.sox", "../libclang_rt.a.so"], nil), ([], nil),
    ] as [([String], String?)])
  func sanitizer(needed: [String], expected: String?) { #expect(Sanitizer.library(among: needed) == expected) }
}
