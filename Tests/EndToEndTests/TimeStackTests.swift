import Foundation
import TestSupport
import Testing

@testable import PluginHost

/// Where the threads of a plugin were when its time was over.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct TimeStackTests {
  private static let source = """
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <signal.h>
    #include <stdlib.h>
    #include <unistd.h>
    static int spin(volatile int turns) { for (;;) turns++; return turns; }
    static int rest(void) { for (;;) pause(); return 1; }
    static void *worker(void *_) {
      pthread_setname_np(pthread_self(), "work\\033er \u{fc}\\377");
      return (void *)(long)spin(0);
    }
    int two(void) {
      pthread_t thread;
      pthread_create(&thread, 0, worker, 0);
      return rest() + 1;
    }
    int alone(void) { return spin(1) + 1; }
    int deaf(void) {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, 0);
      return spin(1) + 1;
    }
    int full(void) {
      sigset_t one;
      sigemptyset(&one);
      sigaddset(&one, SIGRTMIN);
      pthread_sigmask(SIG_BLOCK, &one, 0);
      while (!sigqueue(getpid(), SIGRTMIN, (union sigval){0})) continue;
      return spin(1) + 1;
    }
    __attribute__((constructor)) static void begin(void) { if (getenv("ENDLESS")) spin(0); }
    """

  private static func end(_ arguments: [String]) throws -> Workspace.Finished {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(source, "-g -O1 -fno-inline -o a.so", in: folder)
    return try Workspace.run(["call", "\(folder)/a.so"] + arguments)
  }

  @Test("each thread is told, with functions, files and lines") func each() throws {
    let end = try Self.end(["two", "i32()", "--wall", "300ms"])
    #expect(end.status == 12, "\(end)")
    let lines = end.errors.split(separator: "\n").map(String.init)
    let first = try #require(lines.firstIndex { $0.hasPrefix("  thread 1 ") }, "\(end)")
    let second = try #require(lines.firstIndex { $0.hasPrefix("  thread ") && $0.contains("(work") }, "\(end)")
    #expect(first < second && !end.errors.contains("\u{1b}"), "\(end)")
    #expect(lines[second].hasSuffix(#"(work\u{1b}er ü?) was in"#), "\(end)")
    #expect(lines[first..<second].contains { $0.contains(" rest at source.c:7 (a.so+0x") }, "\(end)")
    #expect(lines[first..<second].contains { $0.contains(" two at source.c:15 (a.so+0x") }, "\(end)")
    #expect(lines[second...].contains { $0.contains("#0 spin at source.c:6 (a.so+0x") }, "\(end)")
    #expect(!end.errors.contains("libffi"), "\(end)")
  }

  @Test("also where CPU time is the limit, and in a constructor") func moments() throws {
    let busy = try Self.end(["alone", "i32()", "--cpu", "200ms"])
    #expect(busy.status == 13 && busy.errors.contains("    #0 spin at source.c:6 (a.so+0x"), "\(busy)")
    let loading = try Self.end(["alone", "i32()", "--wall", "300ms", "--env", "ENDLESS=1"])
    #expect(loading.status == 12 && loading.errors.contains(" begin at source.c:32 (a.so+0x"), "\(loading)")
  }

  @Test("in JSON, and not for any other end") func json() throws {
    func threads(_ end: Workspace.Finished) throws -> [[String: Any]] {
      let report = try #require(
        try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any], "\(end)")
      return try #require(report["threads"] as? [[String: Any]], "\(end)")
    }
    let found = try threads(try Self.end(["alone", "i32()", "--wall", "300ms", "--json"]))
    #expect(found.count == 1 && found[0]["number"] as? Int == 1, "\(found)")
    let stack = try #require(found[0]["stack"] as? [[String: Any]])
    #expect(stack.first?["function"] as? String == "spin" && stack.first?["line"] as? Int == 6, "\(stack)")
    #expect(try threads(try Workspace.run(["call", "libc.so.6", "abs", "i32(i32)", "1", "--json"])).isEmpty)
  }

  @Test("where no signal can be queued any more, which any plugin can see to, the stacks are told all the same")
  func fullQueue() throws {
    let end = try Self.end(["full", "i32()", "--wall", "300ms"])
    #expect(end.status == 12 && end.errors.contains("    #0 spin at source.c:6 (a.so+0x"), "\(end)")
  }

  @Test("a thread that blocks every signal isn't waited for") func deaf() throws {
    let end = try Self.end(["deaf", "i32()", "--wall", "300ms"])
    #expect(end.status == 12 && !end.errors.contains("thread 1"), "\(end)")
    #expect(end.errors.contains("  1 thread didn't tell where it was\n"), "\(end)")
  }

  @Test("what a plugin makes up is bounded and printable (H141)", arguments: ["h141_liar", "h141_greedy"])
  func lies(function: String) throws {
    let end = try Workspace.run([
      "call", "\(Workspace.root)/Plugins/hostile/build/libhostile.so", function, "void()", "--wall", "300ms",
    ])
    #expect(end.status == 12, "\(end)")
    let lines = end.errors.split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("  thread ") } <= ThreadStacks.maxThreads)
    #expect(lines.count { $0.hasPrefix("    #") } <= ThreadStacks.maxThreads * CrashStack.maxFrames)
    #expect(!end.errors.contains("\u{1b}") && !end.errors.contains("\u{7}"), "\(end)")
  }
}
