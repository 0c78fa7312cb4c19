import Basics
import Foundation
import PolicyLab
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// Where a plugin crashed and who called that.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CrashStackTests {
  private static let source = """
    #include <pthread.h>
    #include <stdlib.h>
    #include <string.h>
    static int checksum(const char *name, int turn) {
      return name[turn % 5] * turn;
    }
    int crash(const char *name) {
      return checksum(memchr(name, '?', strlen(name)), 0) + 1;
    }
    int aborts(void) { abort(); return 1; }
    int jump(void) { int (*function)(void) = 0; return function() + 1; }
    int deep(int n) { volatile char room[4096]; room[n % 4096] = n; return deep(n + 1) + room[0]; }
    static void *thread(void *_) { return (void *)(long)checksum((char *)8, 0); }
    int other(void) { pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); return 1; }
    #include <signal.h>
    static int descend(int n) { volatile char room[4096]; room[n % 4096] = n; return descend(n + 1) + room[0]; }
    static void *falling(void *_) { return (void *)(long)descend(0); }
    int other_deep(int size) {
      pthread_t t;
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      if (size) pthread_attr_setstacksize(&attributes, size);
      if (pthread_create(&t, size ? &attributes : 0, falling, 0)) return 0;
      pthread_join(t, 0);
      return 1;
    }
    static void *blocking(void *name) {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, 0);
      return (void *)(long)crash(name);
    }
    int other_blocked(int is_inherited) {
      pthread_t t;
      sigset_t all, before;
      sigfillset(&all);
      if (is_inherited) sigprocmask(SIG_SETMASK, &all, &before);
      pthread_create(&t, 0, is_inherited ? thread : blocking, "x");
      if (is_inherited) sigprocmask(SIG_SETMASK, &before, 0);
      pthread_join(t, 0);
      return 1;
    }
    /* 1: all others are blocked; 2: those of faults are, too; 4: those of the C library are. */
    int blocked(void) {
      sigset_t all, now;
      sigfillset(&all);
      if (pthread_sigmask(99, &all, 0) == 0) return -1;
      if (sigprocmask(SIG_BLOCK, &all, 0) || sigprocmask(SIG_BLOCK, 0, &now)) return -2;
      unsigned long bits = *(unsigned long *)&now, faults = 0, own = 3UL << 31;
      int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
      for (int i = 0; i < 6; i++) faults |= 1UL << (numbers[i] - 1);
      /* Neither SIGKILL nor SIGSTOP can be blocked. */
      unsigned long others = ~(faults | own | 1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1));
      return ((bits & others) == others) | ((bits & faults) != 0) << 1 | ((bits & own) != 0) << 2;
    }
    static void fail(int kind) {
      if (kind == 0) exit(3);
      if (kind == 1) _exit(3);
      if (kind == 2) quick_exit(3);
      _Exit(3);
    }
    static void *ending(void *kind) { fail((int)(long)kind); return 0; }
    int ends(int kind) {
      if (kind < 4) fail(kind);
      pthread_t t;
      pthread_create(&t, 0, ending, (void *)(long)(kind - 4));
      pthread_join(t, 0);
      return 1;
    }
    static volatile int kept;
    static void fall(void) { kept = checksum((char *)8, 0); }
    int ends_badly(void) { atexit(fall); fail(0); return 1; }
    /* Returns to nowhere, on a stack that can't be read. */
    int lost(void) { __asm__ volatile("xor %esp, %esp\\n\\tmov (%rsp), %rax"); return 1; }
    int smashed(void) { __asm__ volatile("movq $1, 8(%rbp)\\n\\tmovq $1, (%rbp)\\n\\tmovl $0, 8"); return 1; }
    #include <sys/wait.h>
    #include <unistd.h>
    #if defined(__x86_64__)
    int trap(void) { __asm__ volatile("int3"); return 5; }
    int unaligned(void) {
      static char bytes[8] __attribute__((aligned(8)));
      int value;
      __asm__ volatile(
        "lea -128(%%rsp), %%rsp; pushfq; orl $0x40000, (%%rsp); popfq; lea 128(%%rsp), %%rsp; movl 1(%1), %0"
        : "=r"(value) : "r"(bytes) : "memory", "cc");
      return value;
    }
    #else
    int trap(void) { __asm__ volatile("brk #0"); return 5; }
    #endif
    int forked_trap(void) {
      pid_t child = fork();
      if (child == 0) _exit(trap());
      int status;
      waitpid(child, &status, 0);
      return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
    }
    """

  private static func folder(_ options: String = "-g") throws -> String {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(source, "\(options) -O1 -fno-inline -fno-omit-frame-pointer -o a.so", in: folder)
    return folder
  }

  @Test(
    "functions, files and lines are named, the innermost first",
    arguments: [
      ("crash", "i32(cstring)", ["x"], ["#0 checksum at source.c:5 (a.so+0x", "#1 crash at source.c:8 (a.so+0x"]),
      ("aborts", "i32()", [], ["abort +0x", "aborts at source.c:10 (a.so+0x"]),
      ("jump", "i32()", [], ["#0 jump at source.c:11 (a.so+0x"]),
      ("other", "i32()", [], ["#0 checksum at source.c:5 (a.so+0x", "#1 thread at source.c:13 (a.so+0x"]),
    ] as [(String, String, [String], [String])])
  func named(function: String, signature: String, arguments: [String], expected: [String]) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", function, signature] + arguments)
    #expect(end.status == 11, "\(end)")
    let found = end.errors.split(separator: "\n").filter { $0.hasPrefix("  #") }
    for line in expected { #expect(found.contains { $0.contains(line) }, "\(line) in \(end.errors)") }
    #expect(!end.errors.contains("libffi") && !end.errors.contains("outrider-runner"), "\(end.errors)")
  }

  @Test("the address that a crash used is said, and what it is near") func addresses() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      static const int table[] = {1, 2, 3, 4};
      int null(void) { return *(volatile int *)0x64; }
      int constant(void) { *(volatile int *)&table[1] = 5; return table[1]; }
      int jump(void) { return ((int (*)(void))0)(); }
      int wild(void) { *(volatile char *)0x123456789000 = 1; return 1; }
      int impossible(void) { return *(volatile int *)0x8000000000000000; }
      """, "-O0 -w -o a.so", in: folder)
    for (function, text) in [
      ("null", "it read address 0x64, near null"), ("constant", ", in a.so+0x"),
      ("jump", "it ran code at address 0x0, near null"),
      ("wild", "it wrote to address 0x123456789000, where nothing is mapped"), ("impossible", nil),
    ] {
      let end = try Workspace.run(["call", "\(folder)/a.so", function, "i32()"])
      let seen = end.errors.split(separator: "\n").filter { $0.hasPrefix("  it ") }
      #expect(end.status == 11 && seen.count == (text == nil ? 0 : 1), "\(end)")
      if let text { #expect(seen.first?.contains(text) == true, "\(end)") }
    }
    let json = try Workspace.run(["call", "\(folder)/a.so", "null", "i32()", "--json"])
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any], "\(json)")
    let fault = try #require(report["fault"] as? [String: Any])
    #expect(
      fault["address"] as? Int == 0x64 && fault["access"] as? String == "read"
        && fault["place"] as? String == "near null")
  }

  @Test(
    "a library is named whole, with its functions and lines, whatever its file is called",
    arguments: CrashStackTests.names)
  func libraryNames(name: String, shown: String) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.moveItem(atPath: "\(folder)/a.so", toPath: "\(folder)/\(name)")
    let end = try Workspace.run(["call", "\(folder)/\(name)", "crash", "i32(cstring)", "x"])
    #expect(end.errors.contains("crashed: SIGSEGV in checksum of \(shown) in a call"), "\(end)")
    #expect(end.errors.contains("  #0 checksum at source.c:5 (\(shown)+0x"), "\(end)")
    let json = try Workspace.run(["call", "\(folder)/\(name)", "crash", "i32(cstring)", "x", "--json"])
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any], "\(json)")
    let stack = try #require(report["stack"] as? [[String: Any]])
    #expect(stack.first?["library"] as? String == shown && stack.first?["line"] as? Int == 5, "\(stack)")
  }

  static let names = [
    ("pläck.so", "pläck.so"), ("日本.so", "日本.so"), ("t\tab.so", "t\\u{9}ab.so"),
    (String(repeating: "l", count: 200) + ".so", String(repeating: "l", count: 200) + ".so"),
  ]

  @Test("a library beside the one that was loaded has lines, too, whatever its file is called") func neighbour() throws
  {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      "int divide(int by) {\n  return 7 / by;\n}", "-g -O0 -o lib\u{fc}\\\tb.so -Wl,-soname,lib\u{fc}\\\tb.so",
      in: folder)
    try LibraryTests.compile(
      "int divide(int); int start(int by) { return divide(by) + 1; }",
      "-g -O0 -o a.so lib\u{fc}\\\tb.so '-Wl,-rpath,$ORIGIN'", in: folder)
    let end = try Workspace.run(["call", "\(folder)/a.so", "start", "i32(i32)", "0"])
    #expect(end.errors.contains("  #0 divide at source.c:2 (lib\u{fc}\\u{9}b.so+0x"), "\(end)")
  }

  /// What of a name is no text would be no message to the host.
  @Test("functions whose names are no text are told all the same, and those of another script as they are")
  func symbols()
    async throws
  {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      int bad(void) __asm__("bad_\\377\\303x\\355\\240\\200_name");
      int bad(void) { return *(volatile int *)8; }
      int good(void) __asm__("gr\u{fc}n");
      int good(void) { return bad() + 1; }
      int start(void) { return good() + 1; }
      """, "-O1 -fno-inline -fno-optimize-sibling-calls -o a.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load("\(folder)/a.so", policy: Policy())
    _ = try? await plugin.call("start", "i32()")
    let ended = await plugin.end()
    #expect(ended.outcome.detail.contains("SIGSEGV in bad_??x???_name +0x"), "\(ended.outcome)")
    #expect(ended.stack.map(\.symbol) == ["bad_??x???_name", "gr\u{fc}n", "start"])
  }

  /// Its thread stands behind it, and would go on.
  @Test("a trap ends the plugin", arguments: [[], ["--no-sandbox"]]) func trap(
    options: [String]
  ) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "trap", "i32()"] + options)
    #expect(end.status == 11 && end.output.isEmpty && end.errors.contains("crashed: SIGTRAP in trap +0x"), "\(end)")
  }

  #if arch(x86_64)
    @Test("a load of unaligned memory that the plugin forbids itself is a crash, and is told") func unaligned() throws {
      let folder = try Self.folder()
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let end = try Workspace.run(["call", "\(folder)/a.so", "unaligned", "i32()", "--wall", "20s", "--cpu", "20s"])
      #expect(
        end.status == 11 && end.errors.contains("because the plugin has set EFLAGS.AC) in unaligned +0x"), "\(end)")
      #expect(!end.errors.contains("near null"), "\(end)")
    }

    @Test("what faults after a plugin that forbade unaligned memory is the plugin's doing") func unalignedAfter() throws
    {
      let folder = try Self.folder()
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let source = #"int left(void) { __asm__ volatile("pushf; orl $0x40000,(%rsp); popf"); return 1; }"#
      try LibraryTests.compile(source, "-o left.so", in: folder)
      let end = try Workspace.run(["call", "\(folder)/left.so", "left", "i32()", "--wall", "20s", "--cpu", "20s"])
      #expect(end.status == 11 && end.errors.contains("because the plugin has set EFLAGS.AC) in "), "\(end)")
      #expect(!end.errors.contains("near null") && !end.errors.contains("beyond its memory"), "\(end)")
    }
  #endif

  @Test("a trap ends a plugin's process", .withMemoryCgroup) func trapInChild() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try "version: 2\nprocesses: 1\n".write(toFile: "\(folder)/p.yaml", atomically: true, encoding: .utf8)
    let child = try Workspace.run(["call", "\(folder)/a.so", "forked_trap", "i32()", "--policy", "\(folder)/p.yaml"])
    #expect(child.output == "\(SIGTRAP)\n", "\(child)")
  }

  @Test("without debug information exported functions are named, and addresses are there") func stripped() throws {
    let folder = try Self.folder("-s")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "crash", "i32(cstring)", "x", "--json"])
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any], "\(end)")
    let stack = try #require(report["stack"] as? [[String: Any]])
    #expect(stack.count == 2 && stack[0]["function"] == nil && stack[1]["function"] as? String == "crash", "\(stack)")
    #expect(stack.allSatisfy { $0["library"] as? String == "a.so" && $0["line"] == nil && $0["address"] is Int })
  }

  @Test("names of Rust are demangled, in the first line, too") func rust() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // As a compiler of Rust calls `media::read::<u8>`.
    try LibraryTests.compile(
      """
      __attribute__((visibility("default"))) int _RINvCs1_5media4readhE(int *place) { return *place; }
      int crash(void) { return _RINvCs1_5media4readhE((int *)8) + 1; }
      """, "-w -o a.so", in: folder)
    let end = try Workspace.run(["call", "\(folder)/a.so", "crash", "i32()"])
    #expect(end.errors.contains("crashed: SIGSEGV in media::read::<u8> +0x"), "\(end)")
    #expect(end.errors.contains("#0 media::read::<u8> +0x"), "\(end)")
  }

  @Test("names of C++ are demangled, in a plugin of their own") func demangled() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source = """
      namespace media { struct Reader { int at(int *place, double) { return *place; } }; }
      extern "C" int read(void) { return media::Reader().at((int *)8, 0) + 1; }
      """
    try source.write(toFile: "\(folder)/a.cpp", atomically: true, encoding: .utf8)
    let made = try Workspace.run(
      ["-c", "cd '\(folder)' && c++ -g -shared -fPIC a.cpp -o a.so"], program: "/bin/bash")
    try #require(made.status == 0, "\(made)")
    let end = try Workspace.run(["call", "\(folder)/a.so", "read", "i32()"])
    #expect(end.errors.contains("#0 media::Reader::at(int*, double) at a.cpp:1 (a.so+0x"), "\(end)")
    #expect(end.errors.contains("crashed: SIGSEGV in media::Reader::at(int*, double) +0x"), "\(end)")
  }

  @Test("names of Swift are demangled, in a plugin of their own") func swift() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source = """
      struct Reader {
        let values: [Int]
        @inline(never) func value(at index: Int) -> Int { values[index] }
      }
      @_cdecl("lookup") public func lookup(_ index: Int32) -> Int32 { Int32(Reader(values: [1]).value(at: Int(index))) }
      """
    try source.write(toFile: "\(folder)/a.swift", atomically: true, encoding: .utf8)
    let made = try Workspace.run(
      ["-c", "cd '\(folder)' && swiftc -g -module-name Sample -emit-library a.swift -o a.so"], program: "/bin/bash")
    try #require(made.status == 0, "\(made)")
    let end = try Workspace.run(["call", "\(folder)/a.so", "lookup", "i32(i32)", "5"])
    #expect(end.errors.contains(" Sample.Reader.value(at: Swift.Int) -> Swift.Int at a.swift:3 (a.so+0x"), "\(end)")
  }

  @Test("a stack that can't be read keeps nothing from being told", arguments: ["lost", "smashed", "deep"])
  func unreadable(function: String) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let signature = function == "deep" ? ["i32(i32)", "0", "--memory", "64MiB"] : ["i32()"]
    let end = try Workspace.run(["call", "\(folder)/a.so", function] + signature)
    #expect(end.status == 11 && end.errors.contains("crashed: SIGSEGV"), "\(end)")
    #expect(end.errors.split(separator: "\n").count { $0.hasPrefix("  #") } <= CrashStack.maxFrames)
  }

  @Test("a stack overflow of any thread is told with its callers", arguments: [0, 1 << 20, 512 << 10])
  func overflowOfThread(size: Int) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "other_deep", "i32(i32)", "\(size)", "--memory", "64MiB"])
    #expect(end.status == 11 && end.errors.contains("crashed: SIGSEGV (stack overflow) in "), "\(end)")
    let found = end.errors.split(separator: "\n").filter { $0.hasPrefix("  #") }
    #expect(found.count >= 30 && found.allSatisfy { $0.contains(" descend at source.c:") }, "\(end)")
  }

  @Test("a small stack is all the thread's own") func smallStack() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "other_deep", "i32(i32)", "\(64 << 10)"])
    #expect(
      end.status == 11 && end.errors.contains("crashed: ended by SIGSEGV in a call; nothing could say where"), "\(end)")
  }

  @Test("a thread that blocks all signals tells where it crashed", arguments: [0, 1]) func blocked(isInherited: Int)
    throws
  {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "other_blocked", "i32(i32)", "\(isInherited)"])
    #expect(end.status == 11 && end.errors.contains("#0 checksum at source.c:"), "\(end)")
    #expect(end.errors.contains(isInherited == 1 ? "#1 thread at" : "#1 crash at"), "\(end)")
  }

  @Test("a mask blocks all signals but those of faults and the C library's") func mask() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(try Workspace.run(["call", "\(folder)/a.so", "blocked", "i32()"]).output == "1\n")
  }

  @Test("a call of exit is told with its callers", arguments: [0, 1, 2, 3, 4, 5]) func exits(kind: Int) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "ends", "i32(i32)", "\(kind)"])
    #expect(
      end.status == 11 && end.errors.hasPrefix("crashed: exited with status 3 in a call\n  #0 fail at source.c:"),
      "\(end)")
    #expect(end.errors.contains(kind < 4 ? "\n  #1 ends at source.c:" : "\n  #1 ending at source.c:"), "\(end)")
    #expect(!end.errors.contains("outrider-runner"), "\(end)")
  }

  @Test("a crash at the end of the process is told in the place of who ended it") func crashAtExit() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "ends_badly", "i32()"])
    #expect(end.status == 11 && end.errors.hasPrefix("crashed: SIGSEGV in "), "\(end)")
    #expect(end.errors.contains("\n  #0 checksum at source.c:"), "\(end)")
  }

  @Test("lines are found in each version of the debug information", arguments: [2, 3, 4, 5])
  func versions(version: Int) throws {
    let folder = try Self.folder("-gdwarf-\(version)")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "crash", "i32(cstring)", "x"])
    #expect(end.errors.contains("#0 checksum at source.c:5 (a.so+0x"), "\(end)")
  }

  @Test("debug information that lies is read to its end, and nothing beyond it") func lies() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/a.so")))
    let addresses = Array(stride(from: 0x1000 as UInt64, to: 0x1400, by: 16))
    try #require(SourcePlaces(bytes, of: addresses).places.contains { $0.line != nil })
    var random = SeededGenerator(seed: UInt64(getpid()))
    for _ in 0..<400 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...200, using: &random) {
        changed[Int.random(in: changed.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) { changed.removeLast(Int.random(in: 0..<changed.count, using: &random)) }
      #expect(SourcePlaces(changed, of: addresses).places.count == addresses.count)
    }
  }
}
