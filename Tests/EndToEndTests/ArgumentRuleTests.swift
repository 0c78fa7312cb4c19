import Foundation
import TestSupport
import Testing

/// Rules of a policy about the arguments of system calls, under the real walls.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ArgumentRuleTests {
  private static let source = """
    #include <errno.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdint.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    #include <sys/wait.h>
    #include <time.h>
    #include <unistd.h>

    static char name[16] = "renamed";

    /* 0, or the errno. `option`: all of its register. */
    static long try_prctl(uint64_t option) {
      return syscall(SYS_prctl, option, name, 0, 0, 0) < 0 ? errno : 0;
    }
    long set_name(void) { return try_prctl(PR_SET_NAME); }
    long get_name(void) { return try_prctl(PR_GET_NAME); }
    /* How many of the ways to write the same option get through. */
    long evade_prctl(void) {
      long passed = 0;
      for (int bit = 32; bit < 64; bit++) passed += try_prctl(PR_SET_NAME | (uint64_t)1 << bit) != EPERM;
      return passed + (try_prctl(PR_SET_NAME | 0xffffffff00000000u) != EPERM);
    }

    long advise(uint64_t advice) {
      void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      long code = syscall(SYS_madvise, page, 4096L, advice) < 0 ? errno : 0;
      munmap(page, 4096);
      return code;
    }

    /* `extra`: more bits of the flags' register. */
    long map(uint64_t extra) {
      long at = syscall(SYS_mmap, 0L, 4096L, (long)PROT_READ, (long)(MAP_PRIVATE | MAP_ANONYMOUS) | extra, -1L, 0L);
      if (at == -1) return errno;
      munmap((void *)at, 4096);
      return 0;
    }

    static void *in_thread(void *function) { return (void *)((long (*)(void))function)(); }
    static long threaded(long (*function)(void)) {
      pthread_t thread;
      void *code;
      int error = pthread_create(&thread, 0, in_thread, (void *)function);
      if (error) return -error;
      pthread_join(thread, &code);
      return (long)code;
    }
    long set_name_in_thread(void) { return threaded(set_name); }
    long get_name_in_thread(void) { return threaded(get_name); }
    long evade_in_thread(void) { return threaded(evade_prctl); }

    long make_process(void) {
      long child = syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
      if (child == 0) _exit(0);
      return child < 0 ? errno : 0;
    }
    long make_process_by_high_bits(void) {
      long child = syscall(SYS_clone, (uint64_t)SIGCHLD | 0x10000000000, 0L, 0L, 0L, 0L);
      if (child == 0) _exit(0);
      return child < 0 ? errno : 0;
    }
    long foreign_number(void) { return syscall(SYS_prctl | 0x40000000, PR_SET_NAME, name, 0, 0, 0) < 0 ? errno : 0; }

    /* Nanoseconds for one prctl(2) of that option. */
    long cost(uint64_t option, int count) {
      struct timespec begin, end;
      clock_gettime(CLOCK_MONOTONIC, &begin);
      for (int i = 0; i < count; i++) syscall(SYS_prctl, option, name, 0, 0, 0);
      clock_gettime(CLOCK_MONOTONIC, &end);
      return ((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec) / count;
    }
    """

  private static func folder(_ rules: String) throws -> String {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(source, "-O1 -o rules.so -lpthread", in: folder)
    try "version: 2\nsystemCalls:\n\(rules)\n".write(toFile: "\(folder)/p.yaml", atomically: true, encoding: .utf8)
    return folder
  }

  private static func call(
    _ folder: String, _ function: String, _ arguments: [String] = [], options: [String] = []
  ) throws -> Workspace.Finished {
    let signature = "i64(\(arguments.map { _ in "u64" }.joined(separator: ",")))"
    return try Workspace.run(
      ["call", "\(folder)/rules.so", function, signature] + arguments + ["--policy", "\(folder)/p.yaml"] + options)
  }

  private static let denied = """
      deny:
        - {call: prctl, argument: 0, equals: 15}
        - {call: madvise, argument: 2, equals: [8, 21]}
        - {call: mmap, argument: 3, mask: 0x8000, equals: 0x8000}
    """

  @Test("what meets a rule fails with EPERM or EACCES, and what doesn't is what it is without it")
  func denies() throws {
    let folder = try Self.folder(Self.denied)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (function, arguments, code) in [
      ("set_name", [], EPERM), ("get_name", [], 0), ("advise", ["8"], EPERM), ("advise", ["21"], EPERM),
      ("advise", ["4"], 0), ("advise", ["0"], 0), ("map", ["0"], 0), ("map", ["32768"], EACCES), ("map", ["16384"], 0),
      ("set_name_in_thread", [], EPERM), ("get_name_in_thread", [], 0),
    ] as [(String, [String], Int32)] {
      let end = try Self.call(folder, function, arguments)
      #expect(end.status == 0 && end.output == "\(code)\n", "\(function)(\(arguments)): \(end)")
    }
  }

  @Test("bits that the kernel doesn't read get no call past a rule, from any thread") func highBits() throws {
    let folder = try Self.folder(Self.denied)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for function in ["evade_prctl", "evade_in_thread"] {
      let end = try Self.call(folder, function)
      #expect(end.status == 0 && end.output == "0\n", "\(function): \(end)")
    }
    for value in ["\(21 + 1 << 32)", "\(8 + 1 << 63 as UInt64)"] {
      let end = try Self.call(folder, "advise", [value])
      #expect(end.status == 0 && end.output == "\(EPERM)\n", "\(value): \(end)")
    }
    let mapped = try Self.call(folder, "map", ["\(0x8000 + 1 << 40)"])
    #expect(mapped.status == 0 && mapped.output == "\(EACCES)\n", "\(mapped)")
    #if arch(x86_64)
      let foreign = try Self.call(folder, "foreign_number")
      #expect(foreign.status == 15 && foreign.errors.contains("another architecture (x32)"), "\(foreign)")
    #endif
  }

  @Test("the report and the trace name the rule, whose removal would allow the call") func reported() throws {
    let folder = try Self.folder(Self.denied)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let rule = "systemCalls: {deny: [{call: prctl, argument: 0, equals: 15}]}"
    let end = try Self.call(folder, "evade_prctl", options: ["--json"])
    let report = try #require(JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any], "\(end)")
    let denials = try #require(report["denials"] as? [[String: Any]])
    // One row, however the high bits were.
    #expect(denials.count == 1 && denials[0]["target"] as? String == "option = 15", "\(denials)")
    #expect(denials[0]["count"] as? Int == 33 && denials[0]["rule"] as? String == rule, "\(denials)")
    let traced = try Self.call(folder, "set_name", options: ["--trace", "--trace-only", "denied"])
    let line = try #require(traced.errors.split(separator: "\n").first { $0.contains(" = denied by seccomp: EPERM") })
    #expect(line.contains("prctl(0xf") && line.contains("remove '\(rule)'"), "\(traced)")
    #expect(traced.errors.contains("denied by seccomp: prctl(option = 15)"), "\(traced)")
  }

  @Test(
    "a rule under kill ends the run, also for what is denied anyway",
    arguments: ["make_process", "make_process_by_high_bits"])
  func kills(_ function: String) throws {
    let folder = try Self.folder("  kill: [{call: clone, argument: 0, mask: 0x100, equals: 0}]")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Self.call(folder, function)
    #expect(end.status == 15 && end.errors.contains("policyViolation: clone(flags & 0x100 = 0x0)"), "\(end)")
    #expect(end.errors.contains("remove 'systemCalls: {kill: [{call: clone, argument: 0, mask: 0x100, equals: 0x0}]}'"))
    // Threads share their memory.
    let thread = try Self.call(folder, "get_name_in_thread")
    #expect(thread.status == 0 && thread.output == "0\n", "\(thread)")
    try "version: 2".write(toFile: "\(folder)/p.yaml", atomically: true, encoding: .utf8)
    let without = try Self.call(folder, function)
    #expect(without.status == 0 && without.output == "\(EPERM)\n", "\(without)")
  }

  @Test("a rule under kill ends the run for a call that the filter would let through") func killsWhatIsAllowed() throws
  {
    let folder = try Self.folder("  kill: [{call: prctl, argument: 0, equals: 15}]")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for function in ["set_name", "set_name_in_thread", "evade_in_thread"] {
      let end = try Self.call(folder, function)
      #expect(end.status == 15 && end.errors.contains("policyViolation: prctl(option = 15)"), "\(end)")
    }
    let other = try Self.call(folder, "get_name")
    #expect(other.status == 0 && other.output == "0\n", "\(other)")
  }

  /// The dynamic loader maps code, and memory is mapped from the moment on that the filter is there.
  @Test(
    "a rule without which no library can be loaded ends the run in good time, and says what it was",
    arguments: [
      "  deny: [{call: mmap, argument: 2, mask: 0x4, equals: 0x4}]",
      "  deny: [{call: mmap, argument: 2, mask: 0x1, equals: 0x1}]",
      "  kill: [{call: openat, argument: 2, mask: 0x3, equals: 0}]",
    ])
  func loading(_ rules: String) throws {
    let folder = try Self.folder(rules)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Self.call(folder, "get_name")
    #expect(end.status != 0 && end.output.isEmpty, "\(end)")
    #expect(end.errors.contains("systemCalls: {"), "\(end)")
  }

  @Test("a call that the policy denies by a group is said to be the policy's doing, with what to remove") func names()
    throws
  {
    let folder = try Self.folder("  deny: [fileChanges]")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run([
      "call", "libc.so.6", "mkdir", "i32(cstring,u32)", "/container/x", "448", "--policy", "\(folder)/p.yaml",
    ])
    #expect(end.status == 0 && end.output == "-1\n", "\(end)")
    #expect(end.errors.contains("remove 'systemCalls: {deny: [mkdir]}', or fileChanges, the group"), "\(end)")
  }

  @Test("policy check, show and diff tell of rules, and a rule that is gone is a widening") func commands() throws {
    let folder = try Self.folder(Self.denied)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try "version: 2\nextends: ./p.yaml\nsystemCalls: {deny: [{call: prctl, argument: 0, equals: 15}]}\n"
      .write(toFile: "\(folder)/child.yaml", atomically: true, encoding: .utf8)
    try "version: 2\nsystemCalls: {deny: [{call: prctl, argument: 0, equals: 15}]}\n"
      .write(toFile: "\(folder)/less.yaml", atomically: true, encoding: .utf8)
    let shown = try Workspace.run(["policy", "show", "\(folder)/p.yaml"])
    #expect(shown.status == 0 && shown.output.contains("{call: madvise, argument: 2, equals: [8, 21]}"), "\(shown)")
    let json = try Workspace.run(["policy", "show", "--json", "\(folder)/p.yaml"])
    #expect(
      json.output.contains("\"denyRules\"") && json.output.contains("{call: prctl, argument: 0, equals: 15}"), "\(json)"
    )
    #expect(try Workspace.run(["policy", "check", "--strict", "\(folder)/p.yaml"]).status == 0)
    let needless = try Workspace.run(["policy", "check", "--strict", "\(folder)/child.yaml"])
    #expect(needless.status != 0 && "\(needless)".contains("child.yaml:3:22"), "\(needless)")
    let wider = try Workspace.run(["policy", "diff", "\(folder)/p.yaml", "\(folder)/less.yaml"])
    #expect(
      wider.status == 1 && wider.output.contains("madvise where advice = 8 or 21 isn't denied any more"), "\(wider)")
    #expect(try Workspace.run(["policy", "diff", "\(folder)/less.yaml", "\(folder)/p.yaml"]).status == 0)
  }
}
