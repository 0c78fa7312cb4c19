import Foundation
import TestSupport
import Testing

/// `--trace`: system calls as they happen.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct TraceTests {
  private func trace(_ only: String? = nil, _ call: [String], _ options: [String] = []) throws -> [String] {
    let end = try Workspace.run(
      ["call", "--trace"] + (only.map { ["--trace-only", $0] } ?? []) + options + ["libc.so.6"] + call)
    #expect(end.status == 0, "\(end)")
    return end.errors.split(separator: "\n").map(String.init).filter { $0.contains(" = ") }
  }

  @Test("a path that is refused is shown with the line of a policy that would allow it") func files() throws {
    let lines = try trace(nil, ["open", "i32(cstring,i32)", "/etc/passwd", "0"])
    let line = try #require(lines.last)
    #expect(line.contains("openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY) = refused by files"), "\(line)")
    #expect(line.contains("policy: files: {read: [/etc/passwd]}"), "\(line)")
    #expect(lines.contains { $0.contains("libc.so.6") && $0.contains("= to the kernel") }, "loading is shown, too")
  }

  @Test("a call that a policy allows is shown with the line that does so, and what every plugin has isn't")
  func granted() throws {
    let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try "x".write(toFile: "\(folder)/a.db", atomically: true, encoding: .utf8)
    let policy = "\(folder)/p.yaml"
    for (grant, line) in [
      ("read: [\(folder)/a.db]", "files: {read: [\(folder)/a.db]}"),
      ("read: [\(folder)]", "files: {read: [\(folder)]}"),
      ("read: [\"\(folder)/*.db\"]", "files: {read: [\"\(folder)/*.db\"]}"),
      ("write: [\(folder)]", "files: {write: [\(folder)]}"),
    ] {
      try "version: 2\nfiles: {\(grant)}\n".write(toFile: policy, atomically: true, encoding: .utf8)
      let end = try Workspace.run(
        ["call", "--trace", "libc.so.6", "open", "i32(cstring,i32)", "\(folder)/a.db", "0", "--policy", policy])
      let lines = end.errors.split(separator: "\n").filter { $0.contains(" = ") }
      #expect(lines.last?.hasSuffix("= to the kernel  by policy: \(line)") == true, "\(end)")
      #expect(lines.filter { $0.contains("by policy") }.count == 1, "\(end)")
    }
    let json = try Workspace.run([
      "call", "--trace", "--trace-format", "json", "libc.so.6", "open", "i32(cstring,i32)", "\(folder)/a.db", "0",
      "--policy", policy,
    ])
    #expect(json.errors.contains("\"grantedBy\":\"files: {write: [\(folder)]}\""), "\(json)")
  }

  @Test("a trace names the lines that let a process and a program start", .withMemoryCgroup) func started() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(ProcessPlugin.source, "-O1 -pthread -o processes.so", in: folder)
    let policy = "\(folder)/policy.yaml"
    func trace(_ lines: String, _ function: String, _ signature: String, _ arguments: String...) throws -> [String] {
      try "version: 2\nlimits: {memory: 16MiB}\n\(lines)\n".write(toFile: policy, atomically: true, encoding: .utf8)
      let end = try Workspace.run(
        ["call", "--trace", "--policy", policy, "\(folder)/processes.so", function, signature] + arguments)
      return end.errors.split(separator: "\n").map(String.init)
    }
    let execute = "executableMemory: later\nfiles: {execute: [/usr/bin/true]}"
    let started = try trace("processes: 2\n\(execute)", "execute", "i32(cstring,cstring)", "/usr/bin/true", "x")
    #expect(
      started.contains { $0.contains(" clone(") && $0.hasSuffix("= to the kernel  by policy: processes: 2") },
      "\(started)")
    #expect(
      started.contains {
        $0.contains(" execve(\"/usr/bin/true\") = to the kernel")
          && $0.hasSuffix("  by policy: files: {execute: [/usr/bin/true]}")
      }, "\(started)")
    let refused = try trace(execute, "execute", "i32(cstring,cstring)", "/usr/bin/true", "x")
    #expect(
      refused.contains { $0.contains("= denied by seccomp: EPERM  policy: processes: 1") }, "\(refused)")
  }

  @Test("calls that the filter would let through are shown where they are asked for") func groups() throws {
    #expect(try trace(nil, ["getpgid", "i32(i32)", "0"]).allSatisfy { !$0.contains("getpgid") })
    #expect(
      try trace("getpgid", ["getpgid", "i32(i32)", "0"]).map { $0.contains("getpgid(0) = to the kernel") } == [true])
    let made = try trace("fileChanges", ["mkdir", "i32(cstring,u32)", "/container/x", "448"])
    #expect(made.count == 1 && made[0].contains("mkdir(\"/container/x\")"), "\(made)")
    let denied = try trace("denied", ["socket", "i32(i32,i32,i32)", "2", "1", "0"])
    #expect(
      denied.count == 1 && denied[0].contains("socket(AF_INET, SOCK_STREAM, 0) = denied by seccomp: EAFNOSUPPORT"))
    let policy = FileManager.default.temporaryDirectory.path + "/trace-\(UUID().uuidString).yaml"
    defer { try? FileManager.default.removeItem(atPath: policy) }
    try "version: 2\nsystemCalls: {kill: [socket]}".write(toFile: policy, atomically: true, encoding: .utf8)
    let ended = try Workspace.run([
      "call", "--trace", "--trace-only", "denied", "--policy", policy, "libc.so.6", "socket", "i32(i32,i32,i32)", "2",
      "1",
      "0",
    ])
    #expect(ended.status == 15 && ended.errors.contains("= ended by seccomp"), "\(ended)")
  }

  @Test("for tools, each call is an object on a line of a file") func json() throws {
    let file = FileManager.default.temporaryDirectory.path + "/trace-\(UUID().uuidString).jsonl"
    defer { try? FileManager.default.removeItem(atPath: file) }
    let path = "/etc/pass\u{1b}[2Jwd"
    let end = try Workspace.run([
      "call", "--trace", "--trace-format", "json", "--trace-output", file, "--json", "libc.so.6", "open",
      "i32(cstring,i32)", path, "0",
    ])
    let report = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    #expect(end.status == 0 && report?["outcome"] != nil, "\(end)")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
    let events = try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    let last = try #require(events.last)
    #expect(last["call"] as? String == "openat" && last["verdict"] as? String == "refused", "\(last)")
    #expect(events.allSatisfy { ($0["seconds"] as? Double ?? -1) >= 0 })
    #expect(
      zip(events, events.dropFirst()).allSatisfy { ($0["seconds"] as? Double ?? 0) <= ($1["seconds"] as? Double ?? 0) })
  }

  @Test("a path with a line's end is told from one that is written like it, in text and in JSON") func escapes() throws
  {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let long = "/" + String(repeating: "a", count: 250)
    for (path, shown) in [
      ("/new\nline", #""/new\u{a}line""#), (#"/new\u{a}line"#, #""/new\\u{a}line""#),
      (#"/a"b"#, #""/a\"b""#), (long, "\"\(long.prefix(200))…\""),
    ] {
      let call = ["open", "i32(cstring,i32)", path, "0"]
      #expect(try trace(nil, call).last?.contains("openat(AT_FDCWD, \(shown), O_RDONLY)") == true)
      let file = "\(folder)/trace.jsonl"
      _ = try trace(nil, call, ["--trace-format", "json", "--trace-output", file])
      let line = try #require(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").last)
      let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect(event?["paths"] as? [String] == [path], "\(line)")
    }
  }

  @Test("a flood neither outlives its deadline nor is lost without a word") func flood() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <unistd.h>
      void forever(void) { for (;;) access("/etc/passwd", R_OK); }
      int many(int n) { int i; for (i = 0; i < n; i++) access("/etc/passwd", R_OK); return i; }
      """, "-o flood.so", in: folder)
    let end = try Workspace.run([
      "call", "--trace", "--trace-output", "\(folder)/out", "--wall", "500ms", "\(folder)/flood.so", "forever",
      "void()",
    ])
    #expect(end.status == 12, "\(end)")
    let counted = try Workspace.run([
      "call", "--wall", "10m", "--cpu", "10m", "--trace", "--trace-only", "access", "--trace-output", "\(folder)/out",
      "\(folder)/flood.so", "many",
      "i32(i32)", "2000",
    ])
    #expect(counted.output == "2000\n", "\(counted)")
    let shown = try String(contentsOfFile: "\(folder)/out", encoding: .utf8).split(separator: "\n").count
    let dropped = counted.errors.firstMatch(of: #/and (\d+) system calls that came/#).flatMap { Int($0.1) } ?? 0
    #expect(shown + dropped == 2000, "\(shown) shown, \(dropped) not")
  }

  @Test("a file that doesn't take the trace is named, and the result is there", arguments: [false, true])
  func lost(isJSON: Bool) throws {
    let words = ["call", "libc.so.6", "access", "i32(cstring,i32)", "/etc/passwd", "4", "--trace", "--trace-output"]
    let end = try Workspace.run(words + ["/dev/full"] + (isJSON ? ["--json"] : []))
    #expect(end.status == 74 && end.errors.contains("--trace-output /dev/full: No space left"), "\(end)")
    if isJSON {
      _ = try #require(try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any], "\(end)")
    } else {
      #expect(end.output == "-1\n")
    }
  }

  @Test(
    "what can't be traced is refused with a sentence",
    arguments: [
      (["--trace-only", "files"], 64, "needs --trace"), (["--trace", "--trace-only", "frob"], 64, "'frob'"),
      (["--trace-format", "json"], 64, "--trace-format needs --trace"),
      (["--trace-format", "text"], 64, "--trace-format needs --trace"),
      (["--trace", "--trace-output", "/nowhere/x"], 73, "/nowhere/x"),
      (["--trace", "--trace-only", ""], 64, "neither"),
      (["--trace", "--trace-only", "openat,read"], 64, "'read' can't be shown"),
    ])
  func refused(options: [String], status: Int32, words: String) throws {
    let end = try Workspace.run(["call"] + options + ["libc.so.6", "getpid", "i32()"])
    #expect(end.status == status && end.errors.contains(words), "\(end)")
  }

  @Test("a wake is shown, too, and its answer stays what it was") func wake() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Workspace.manifest.write(toFile: "\(folder)/m.json", atomically: true, encoding: .utf8)
    let words = [
      "run", "\(Workspace.hostile)/good.so", "--request", "install", "--manifest", "\(folder)/m.json",
    ]
    let (plain, traced) = (try Workspace.run(words), try Workspace.run(words + ["--trace"]))
    #expect(traced.status == 0 && traced.output == plain.output && traced.errors.contains("good.so"), "\(traced)")
  }
}
