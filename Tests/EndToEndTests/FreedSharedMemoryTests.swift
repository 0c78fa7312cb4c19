import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Without a memory cgroup the host counts shared memory itself: from the grant until no part of it is mapped any more.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(2))) struct FreedSharedMemoryTests {
  private static let source = """
    #define _GNU_SOURCE
    #include <errno.h>
    #include <pthread.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <unistd.h>
    enum { MIB = 1 << 20 };
    static char *shared(size_t size) {
      char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return 0;
      memset(memory, 1, size);
      return memory;
    }
    static int again(void) {
      for (int turn = 0; turn < 40; turn++) {
        char *memory = shared(5 * MIB);
        if (!memory) return turn;
        munmap(memory, 5 * MIB);
      }
      return 40;
    }
    int alone(void) { return again(); }
    int beside_a_small_one(void) { return shared(65536) ? again() : -1; }
    static void *wait(void *unused) { for (;;) pause(); }
    int with_another_thread(void) {
      pthread_t other;
      return pthread_create(&other, 0, wait, 0) ? -1 : again();
    }
    /* Of different sizes: which of them is left? */
    int beside_a_small_one_with_another_thread(void) {
      pthread_t other;
      if (pthread_create(&other, 0, wait, 0)) return -1;
      return shared(65536) ? again() : -1;
    }
    static volatile int stop;
    static void *small_ones(void *unused) {
      for (int turn = 0; turn < 16 && !stop; turn++)
        if (!shared(4096 * (1 + turn % 5))) return "";
      return 0;
    }
    int beside_small_ones_of_another_thread(void) {
      pthread_t other;
      void *failed;
      if (pthread_create(&other, 0, small_ones, 0)) return -1;
      int turns = again();
      stop = 1;
      pthread_join(other, &failed);
      return failed ? -1 : turns;
    }
    /* Seen by many samples. */
    static int other_memory(void) {
      char *memory = shared(5 * MIB);
      if (!memory) return -1;
      munmap(memory, 5 * MIB);
      memory = mmap(0, 5 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memset(memory, 1, 5 * MIB);
      usleep(20000);
      munmap(memory, 5 * MIB);
      return 40;
    }
    int then_private(void) { return other_memory(); }
    int then_private_with_another_thread(void) {
      pthread_t other;
      return pthread_create(&other, 0, wait, 0) ? -1 : other_memory();
    }
    /* All but a page of each is unmapped, and all of each stays. */
    int in_disguise(void) {
      for (int turn = 0; turn < 40; turn++) {
        char *memory = shared(3 * MIB);
        if (!memory) return turn;
        munmap(memory, 3 * MIB - 4096);
        char *small = shared(4096);
        if (small) munmap(small, 4096);
      }
      return 40;
    }
    static volatile int over;
    static void *move(void *memory) {
      char *at = memory;
      /* Where the kernel puts nothing by itself. */
      for (size_t place = 1; !over; place ^= 3)
        at = mremap(at, 3 * MIB, 3 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)(place << 36));
      return 0;
    }
    /* A host that looks while it is moved may miss it. */
    int in_motion(void) {
      pthread_t other;
      char *memory = shared(3 * MIB);
      if (!memory || pthread_create(&other, 0, move, memory)) return -1;
      int turn = 1;
      for (; turn < 40; turn++)
        if (!shared(3 * MIB)) break;
      over = 1;
      pthread_join(other, 0);
      return turn;
    }
    int and_more_private(void) {
      if (!shared(5 * MIB)) return -1;
      char *memory = mmap(0, 5 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memset(memory, 1, 5 * MIB);
      for (;;) usleep(1000);
    }
    """

  private func run(_ symbol: String) async throws -> (value: Int64?, report: RunReport) {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.source.write(toFile: "\(folder)/shared.c", atomically: true, encoding: .utf8)
    let compiled = try Workspace.run(
      ["-shared", "-fPIC", "-pthread", "-o", "\(folder)/shared.so", "\(folder)/shared.c"], program: "/usr/bin/cc")
    try #require(compiled.status == 0, "\(compiled.errors)")
    var options = PluginHost.LoadOptions()
    options.withoutWalls = [.cgroup]
    let host = try Workspace.host()
    let plugin = try await host.load(
      "\(folder)/shared.so", policy: Policy(limits: Limits(wallTime: .seconds(20), memory: 8 << 20)), options: options)
    do {
      let result = try await plugin.call(symbol, "i32()")
      let report = await plugin.end()
      guard case .signed(let value) = result.value else { return (nil, report) }
      return (value, report)
    } catch {
      guard let report = error.report else { throw error }
      return (nil, report)
    }
  }

  @Test(
    "Freed shared memory counts as freed",
    arguments: [
      "alone", "beside_a_small_one", "with_another_thread", "then_private", "then_private_with_another_thread",
      "beside_a_small_one_with_another_thread", "beside_small_ones_of_another_thread",
    ])
  func freed(_ symbol: String) async throws {
    let (value, report) = try await run(symbol)
    #expect(value == 40, "\(report.outcome) \(report.denials)")
    #expect(report.usage.peakMemoryBytes <= 8 << 20)
  }

  @Test("What is still there isn't given back, however it is hidden", arguments: ["in_disguise", "in_motion"])
  func hidden(_ symbol: String) async throws {
    let (value, report) = try await run(symbol)
    #expect(value == 2, "\(report.outcome)")
    #expect(report.denials.contains { $0.wall == "limits" && $0.operation == "mmap" })
  }

  @Test("What is too much ends the run as before") func tooMuch() async throws {
    let (_, report) = try await run("and_more_private")
    #expect(report.outcome.kind == .memoryExceeded, "\(report.outcome)")
  }
}
