import Foundation
import Glibc
import TestSupport
import Testing

/// Policies of version 2 under the real walls, tried with the C library.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct PolicyEffectTests {
  /// Not below /tmp, in whose place a plugin has a folder of its own.
  private struct Scene: ~Copyable {
    let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"

    init(_ files: [String: String] = [:]) throws {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for (name, text) in files {
        let path = "\(folder)/\(name)"
        try FileManager.default.createDirectory(
          atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
      }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// The result of a function of the C library under a policy; `$F` stands for the scene's folder.
    func call(
      _ policy: String, _ symbol: String, _ signature: String, _ arguments: [String] = [], options: [String] = [],
      environment: [String: String] = [:]
    ) throws -> Workspace.Finished {
      let file = "\(folder)/policy.yaml"
      try ("version: 2\n" + policy).replacing("$F", with: folder).write(toFile: file, atomically: true, encoding: .utf8)
      return try Workspace.run(
        ["call", "--policy", file] + options + ["libc.so.6", symbol, signature]
          + arguments.map { $0.replacing("$F", with: folder) }, environment: environment)
    }

    func value(
      _ policy: String, _ symbol: String, _ signature: String, _ arguments: [String] = []
    ) throws -> String {
      let end = try call(policy, symbol, signature, arguments)
      #expect(end.status == 0, "\(end)")
      return end.output.trimmingCharacters(in: .newlines)
    }
  }

  private static let open = "i32(cstring,i32)"

  @Test(
    "only what is under write is written",
    arguments: [
      ("files: {write: []}", -1, -1), ("files: {write: [$TMP]}", -1, 0), ("files: {write: [$CONTAINER]}", 0, -1),
      ("", 0, 0),
      ("extends: computation", -1, -1),
    ])
  func writes(policy: String, container: Int, temporary: Int) throws {
    let scene = try Scene()
    #expect(try scene.value(policy, "mkdir", "i32(cstring,u32)", ["/container/x", "448"]) == "\(container)")
    #expect(try scene.value(policy, "mkdir", "i32(cstring,u32)", ["/tmp/x", "448"]) == "\(temporary)")
    #expect(try scene.value(policy, "access", Self.open, ["/container", "4"]) == "0", "it can be read")
    #expect(try scene.value(policy, "opendir", "pointer(cstring)", ["/tmp"]) != "0x0")
  }

  @Test("a folder that is listed shows its names and no file") func lists() throws {
    let scene = try Scene(["a/secret": "x", "a/public/y": "y"])
    let policy = "files: {list: [$F/a], read: [$F/a/public]}"
    #expect(try scene.value(policy, "opendir", "pointer(cstring)", ["$F/a"]) != "0x0")
    #expect(try scene.value(policy, "open", Self.open, ["$F/a/secret", "0"]) == "-1")
    #expect(try scene.value(policy, "access", Self.open, ["$F/a/secret", "0"]) == "0")
    #expect(try Int(scene.value(policy, "open", Self.open, ["$F/a/public/y", "0"])) ?? -1 >= 0)
    #expect(try scene.value(policy, "open", Self.open, ["$F/a/new", "65"]) == "-1")
    let denied = try scene.call(policy, "open", Self.open, ["$F/a/secret", "0"], options: ["--observe"])
    #expect(denied.errors.contains("\(scene.folder)/a/secret"), "\(denied)")
    let file = try scene.call("files: {list: [$F/a/secret]}", "getpid", "i32()")
    #expect(file.status == 64 && file.errors.contains("no folder"), "\(file)")
  }

  @Test("patterns stand for what is there when a plugin is loaded, and what is missing is an error or is not")
  func patterns() throws {
    let scene = try Scene(["one.db": "1", "two.db": "2", "other": "3"])
    let policy = #"files: {read: ["$F/*.db", {path: "$F/none*", missing: skip}, {path: /nowhere, missing: skip}]}"#
    #expect(try Int(scene.value(policy, "open", Self.open, ["$F/two.db", "0"])) ?? -1 >= 0)
    #expect(try scene.value(policy, "open", Self.open, ["$F/other", "0"]) == "-1")
    try "4".write(toFile: "\(scene.folder)/three.db", atomically: true, encoding: .utf8)
    #expect(try Int(scene.value(policy, "open", Self.open, ["$F/three.db", "0"])) ?? -1 >= 0)
    for (text, words) in [("\"$F/no*\"", "stands for nothing"), ("/nowhere", "/nowhere")] {
      let end = try scene.call("files: {read: [\(text)]}", "getpid", "i32()")
      #expect(end.status == 66 && end.errors.contains(words), "\(end)")
    }
    try FileManager.default.createSymbolicLink(atPath: "\(scene.folder)/link.db", withDestinationPath: "/etc/passwd")
    // Marked as a folder that plugins have been able to write to.
    let marking = try Workspace.run(["call", "--container", scene.folder, "libc.so.6", "getpid", "i32()"])
    #expect(marking.status == 0, "\(marking)")
    let planted = try scene.call(policy, "getpid", "i32()")
    #expect(planted.status == 64 && planted.errors.contains("symbolic link"), "a plugin may have made it: \(planted)")
  }

  @Test("devices that aren't listed aren't opened") func devices() throws {
    let scene = try Scene()
    let policy = "devices: [null]"
    #expect(try Int(scene.value(policy, "open", Self.open, ["/dev/null", "1"])) ?? -1 >= 0)
    #expect(try scene.value(policy, "open", Self.open, ["/dev/urandom", "0"]) == "-1")
    #expect(try Int(scene.value("", "open", Self.open, ["/dev/urandom", "0"])) ?? -1 >= 0)
  }

  @Test("variables are set, passed on and left out, and none takes the place of the host's") func environment() throws {
    let scene = try Scene()
    let environment = ["OUTER": "from outside", "SECRET": "token"]
    func get(_ name: String, _ policy: String = "environment: [OUTER, SET=here, ABSENT]", _ options: [String] = [])
      throws -> String
    {
      try scene.call(policy, "getenv", "cstring(cstring)", [name], options: options, environment: environment).output
    }
    #expect(try get("OUTER") == "from outside\n" && get("SET") == "here\n")
    let nothing = try get("SECRET")
    #expect(try get("ABSENT") == nothing && nothing != "token\n")
    #expect(try get("SET", "environment: [SET=policy]", ["--env", "SET=a=b"]) == "a=b\n")
    #expect(try get("SECRET", "", ["--env", "SECRET"]) == "token\n")
    #expect(try get("LANG") == "C.UTF-8\n" && get("LANG", "environment: [LANG=C]") == "C\n")
    let refused = try scene.call("", "getpid", "i32()", options: ["--env", "LD_PRELOAD=/x.so"])
    #expect(refused.status == 64 && refused.errors.contains("LD_PRELOAD"), "\(refused)")
  }

  @Test("whatever can be refused, a plugin is loaded, called and ended all the same") func refusedAltogether() throws {
    let scene = try Scene()
    let groups = try Workspace.run(["policy", "show", "--groups", "--json"])
    let listed = try JSONSerialization.jsonObject(with: Data(groups.output.utf8)) as? [String: [String: [String]]]
    let names = try #require(listed?["groups"]?.keys.sorted())
    let others = [
      "getdents64", "fsync", "pipe2", "epoll_wait", "epoll_create1", "eventfd2", "select", "sysinfo", "uname", "times",
      "getrusage", "wait4", "statfs", "chdir", "umask", "getuid", "pwrite64", "getcpu", "mincore", "msync",
    ]
    let policy = "systemCalls: {deny: [\((names + others).joined(separator: ", "))]}"
    #expect(try scene.value(policy, "abs", "i32(i32)", ["-5"]) == "5")
    #expect(try scene.value(policy, "malloc", "pointer(u64)", ["1000000"]) != "0x0")
    #expect(try scene.value(policy, "mkdir", "i32(cstring,u32)", ["/container/x", "448"]) == "-1")
    #expect(try scene.value(policy, "epoll_create1", "i32(i32)", ["0"]) == "-1")
    #expect(try scene.value(policy, "puts", "i32(cstring)", ["text"]) == "5")
  }

  @Test("a refused call is in the report, and ends the run where the policy says so") func refused() throws {
    let scene = try Scene()
    let denied = try scene.call("systemCalls: {deny: [getpgid]}", "getpgid", "i32(i32)", ["0"])
    #expect(denied.status == 0 && denied.output == "-1\n" && denied.errors.contains("getpgid"), "\(denied)")
    let killed = try scene.call("systemCalls: {kill: [fileChanges]}", "rmdir", "i32(cstring)", ["/container/x"])
    #expect(killed.status == 15 && killed.errors.contains("policyViolation"), "\(killed)")
    #expect(killed.errors.contains("rmdir"), "\(killed)")
  }

  /// The C library makes all of these but vfork with clone(2).
  @Test(
    "who starts a process where programs end the run is ended, however it starts that",
    arguments: [
      ("fork", "i32()", []), ("vfork", "i32()", []), ("system", "i32(cstring)", ["true"]),
      ("popen", "pointer(cstring,cstring)", ["true", "r"]),
    ])
  func killedForProcesses(function: String, signature: String, arguments: [String]) throws {
    let scene = try Scene()
    let end = try scene.call("systemCalls: {kill: [programs]}", function, signature, arguments)
    #expect(end.status == 15 && end.errors.contains("policyViolation: "), "\(end)")
    #expect(end.errors.contains("is denied, and the policy ends a run for it"), "\(end)")
    let other = try scene.call("systemCalls: {kill: [sockets]}", function, signature, arguments)
    #expect(other.status == 0, "\(other)")
  }

  @Test("a program that is spawned ends the run where programs do, and a thread doesn't")
  func threadsBesideKilledPrograms() throws {
    let scene = try Scene()
    try LibraryTests.compile(
      """
      #include <pthread.h>
      #include <spawn.h>
      static void *begin(void *given) { return given; }
      int spawned(void) {
        char *words[] = {"true", 0};
        pid_t child;
        return posix_spawn(&child, "/bin/true", 0, 0, words, words + 1);
      }
      int thread(void) { pthread_t t; return pthread_create(&t, 0, begin, 0) || pthread_join(t, 0); }
      """, "-pthread -o a.so", in: scene.folder)
    try "version: 2\nsystemCalls: {kill: [programs]}".write(
      toFile: "\(scene.folder)/p.yaml", atomically: true, encoding: .utf8)
    func end(_ function: String) throws -> Workspace.Finished {
      try Workspace.run([
        "call", "--policy", "\(scene.folder)/p.yaml", "\(scene.folder)/a.so", function, "i32()",
      ])
    }
    let spawned = try end("spawned")
    #expect(spawned.status == 15 && spawned.errors.contains("which starts another process"), "\(spawned)")
    let thread = try end("thread")
    #expect(thread.status == 0 && thread.output == "0\n", "\(thread)")
  }

  @Test("a process that no policy without 'processes' lets be made isn't laid to a rule about threads")
  func processWithoutThreads() throws {
    let scene = try Scene()
    let end = try scene.call("systemCalls: {deny: [newThreads]}", "fork", "i32()")
    #expect(end.status == 0 && end.output == "-1\n" && end.errors.contains("denied by seccomp: clone(0x"), "\(end)")
    #expect(end.errors.contains("'processes: 1' lets it start another process"), "\(end)")
    #expect(!end.errors.contains("newThreads") && !end.errors.contains("rule decides"), "\(end)")
  }

  @Test(
    "huge pages and locked memory are said to be what isn't granted, whatever may become code",
    arguments: ["loading", "later", "jit"])
  func hugePages(executable: String) throws {
    let scene = try Scene()
    for (protection, flags) in [(3, 0x40022), (3, 0x2022), (7, 0x40022)] {
      let end = try scene.call(
        "executableMemory: \(executable)", "mmap", "i64(u64,u64,i32,i32,i32,i64)",
        ["0", "4096", "\(protection)", "\(flags)", "-1", "0"])
      #expect(end.output == "-1\n" && end.errors.contains("no policy grants huge pages"), "\(end)")
      #expect(!end.errors.contains("just-in-time") && !end.errors.contains("policy: "), "\(end)")
    }
  }

  /// MAP_PRIVATE and MAP_ANONYMOUS; with MAP_SHARED it stays data.
  @Test(
    "memory becomes code where a policy has jit, and only the plugin's own",
    arguments: [
      ("jit", 7, 0x22, true), ("jit", 7, 0x21, false), ("later", 5, 0x22, false), ("loading", 5, 0x22, false),
    ])
  func justInTime(executable: String, protection: Int, flags: Int, works: Bool) throws {
    let scene = try Scene()
    let policy = "executableMemory: \(executable)"
    let map = "i64(u64,u64,i32,i32,i32,i64)"
    let address = try scene.value(policy, "mmap", map, ["0", "4096", "\(protection)", "\(flags)", "-1", "0"])
    #expect((address != "-1") == works, "\(address)")
  }

  @Test("with later, code of the runtime is mapped while a plugin runs, and with loading it isn't") func later() throws
  {
    let scene = try Scene()
    for (policy, works) in [("executableMemory: later", true), ("", false)] {
      let address = try scene.value(policy, "dlopen", "pointer(cstring,i32)", ["libmagic.so.1", "2"])
      #expect((address != "0x0") == works)
    }
    // What the plugin may read stays data.
    let library = try Workspace.run(["-c", "readlink -f /usr/lib/*/libz.so.1"], program: "/bin/bash").output
    try FileManager.default.copyItem(
      atPath: library.trimmingCharacters(in: .newlines), toPath: "\(scene.folder)/libz.so")
    let policy = "files: {read: [$F]}\nexecutableMemory: later"
    #expect(try scene.value(policy, "dlopen", "pointer(cstring,i32)", ["$F/libz.so", "2"]) == "0x0")
  }

  @Test("a policy extends another beside it, and errors have their place") func extends() throws {
    let scene = try Scene([
      "base/strict.yaml": "version: 2\nextends: computation\nlimits: {wall: 2s}\n",
      "mine.yaml": "version: 2\nextends: base/strict.yaml\nfiles: {read: [/usr/share/doc]}\n",
      "bad.yaml": "version: 2\nextends: ./wrong.yaml\n", "wrong.yaml": "version: 2\n\nfrob: 1\n",
    ])
    let folder = scene.folder
    let shown = try Workspace.run(["policy", "show", "\(folder)/mine.yaml"])
    #expect(shown.output.contains("extends \(folder)/base/strict.yaml, which extends computation."), "\(shown)")
    #expect(shown.output.contains("wall 2 s") && shown.output.contains("/usr/share/doc"), "\(shown)")
    let check = try Workspace.run(["policy", "check", "--strict", "\(folder)/mine.yaml"])
    #expect(check.status == 65 && check.output.contains("\(folder)/mine.yaml:3:16: warning: read of"), "\(check)")
    let bad = try Workspace.run(["policy", "check", "\(folder)/bad.yaml"])
    #expect(bad.status == 64 && bad.output.contains("\(folder)/wrong.yaml:3:1: "), "\(bad)")
    let wider = try Workspace.run(["policy", "diff", "computation", "\(folder)/mine.yaml"])
    #expect(wider.status == 1 && wider.output.contains("+ /usr/share/doc: read"), "\(wider)")
    #expect(try Workspace.run(["policy", "diff", "downloader", "computation"]).output.contains("- writes") == false)
  }

  @Test(
    "shipped policies are enough for libraries of their kind",
    arguments: [
      ("codec", "libavformat"), ("codec", "imagemagick"), ("codec", "libjpeg"), ("codec", "libmagic"),
      ("computation", "libpng"), ("computation", "zlib"), ("interpreter", "liblua"), ("interpreter", "libpython3"),
    ])
  func kinds(policy: String, library: String) throws {
    let scene = try Scene()
    let text = try String(contentsOfFile: "\(Workspace.root)/Examples/policies/\(library).test.yaml", encoding: .utf8)
    try text.replacing(#/(?m)^policy: .*$/#, with: "policy: \(policy)")
      .write(toFile: "\(scene.folder)/t.yaml", atomically: true, encoding: .utf8)
    let end = try Workspace.run(["policy", "test", "\(scene.folder)/t.yaml"])
    #expect(end.status == 0, "\(end)")
  }

  @Test(
    "shipped policies are found by name, hold, and show their own text",
    arguments: ["downloader", "computation", "codec", "interpreter", "developer"])
  func shipped(name: String) throws {
    let check = try Workspace.run(["policy", "check", "--strict", name])
    #expect(check.status == 0, "\(check)")
    let end = try Workspace.run([
      "call", "--policy", name, "libz.so.1", "crc32", "u64(u64,bytes,u32)", "0", "hello", "5",
    ])
    #expect(end.status == 0 && end.output == "907060870\n", "\(end)")
    let source = try Workspace.run(["policy", "show", name, "--source"])
    #expect(source.output.contains("version: 2") && source.output.hasPrefix("# "), "\(source)")
  }
}
