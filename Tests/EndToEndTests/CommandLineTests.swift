import Foundation
import Sandbox
import TestSupport
import Testing

/// What people type, right and wrong: the result on standard output, one sentence on standard error, the exit status.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CommandLineTests {
  @Test(arguments: [
    (["libz.so.1", "crc32", "u64(u64,bytes,u32)", "0", "hello", "5"], "907060870"),
    (["libm.so.6", "pow", "f64(f64,f64)", "2", "10"], "1024.0"), (["libm.so.6", "fabs", "f64(f64)", "-inf"], "inf"),
    (["libm.so.6", "fabsf", "f32(f32)", "nan"], "nan"), (["libm.so.6", "fabs", "f64(f64)", "-1e300"], "1e+300"),
    (["libc.so.6", "abs", "i32(i32)", "-5"], "5"),
    (["libc.so.6", "strlen", "u64(cstring)", "naïve"], "6"),
    (["libc.so.6", "getenv", "cstring(cstring)", "NOT_THERE"], "null"),
    (["libc.so.6", "getenv", "cstring(cstring)", "LANG", "--wall", "5s"], "C.UTF-8"),
    (["libc.so.6", "memcpy", "pointer(out(4),bytes,u64)", "hex:0a0b0c0d", "4"], "0a0b0c0d"),
  ])
  func calls(_ arguments: [String], _ expected: String) throws {
    let finished = try Workspace.run(["call"] + arguments)
    #expect(finished.status == 0, "\(finished.errors)")
    #expect(finished.output.split(separator: "\n").last.map(String.init) == expected)
  }

  @Test(
    arguments: [
      (["call", "libc.so.6", "abs", "i32(", "1"], 64), (["call", "libc.so.6", "abs", "i32(i33)", "1"], 64),
      (["call", "libc.so.6", "abs", "i32(i32)", "x"], 64),
      (["call", "libc.so.6", "abs", "i32(i32)", "2147483648"], 64),
      (["call", "libc.so.6", "abs", "i32(i32)"], 64), (["call", "libc.so.6", "", "i32()"], 64),
      (["call", "libm.so.6", "fabsf", "f32(f32)", "1e300"], 64),
      (["call", "libm.so.6", "fabs", "f64(f64)", "1e400"], 64), (["call", ".", "x", "i32()"], 66),
      (["call", "audit", "x", "i32()"], 66),
      (
        ["call", "libc.so.6", "abs", "void(out(3000000),out(3000000),out(3000000))"], 64
      ),
      (["call", "libc.so.6", "abs", "i32(i32)", "1", "--wall", "soon"], 64),
      (["call", "libc.so.6", "abs", "i32(i32)", "1", "--wal", "1s"], 64),
      (["call", "libc.so.6", "no_such_function", "i32()"], 18), (["call", "libc.so.6", "environ", "i32()"], 18),
      (["call", "libnothing.so.9", "abs", "i32(i32)", "1"], 66),
      (["call", "/nonexistent.so", "abs", "i32(i32)", "1"], 66),
      (["call", "/etc/hostname", "abs", "i32(i32)", "1"], 10),
      (["call", "libc.so.6", "abs", "i32(i32)", "1", "--policy", "/nonexistent.yaml"], 66),
      (["run", "/nonexistent.so", "--request", "install", "--manifest", "/etc/hostname"], 66),
      (["run", "/etc", "--request", "install", "--manifest", "/etc/hostname"], 66),
      (["run", "/etc/hostname", "--request", "sometimes", "--manifest", "/etc/hostname"], 64),
      (["run", "/lib/x86_64-linux-gnu/libz.so.1", "--request", "install", "--manifest", "/nonexistent"], 66),
      (["run", "/lib/x86_64-linux-gnu/libz.so.1", "--request", "install", "--manifest", "/etc"], 66),
      (["run", "/lib/x86_64-linux-gnu/libz.so.1", "--request", "install", "--manifest", "/etc/hostname"], 10),
      (["inspect", "/nonexistent"], 66), (["inspect", "/etc/hostname"], 10), (["nonsense"], 64),
    ] as [([String], Int32)])
  func refuses(_ arguments: [String], _ status: Int32) throws {
    let finished = try Workspace.run(arguments)
    #expect(finished.status == status, "\(finished.errors)")
    #expect(!finished.errors.isEmpty)
    #expect(!finished.errors.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
  }

  /// Of what can't be loaded nothing is said as if it could.
  @Test func inspectsNothingThatIsNoLibrary() throws {
    let text = try Workspace.run(["inspect", "/etc/hostname"])
    #expect(
      text.status == 10 && text.output.isEmpty && text.errors.contains("/etc/hostname: isn't an ELF file"), "\(text)")
    let json = try Workspace.run(["inspect", "/etc/hostname", "--json"])
    #expect(json.status == 10 && json.output.contains("isn't an ELF file"), "\(json)")
  }

  @Test func namesWhatIsMissing() throws {
    let symbol = try Workspace.run(["call", "libc.so.6", "", "i32()"])
    #expect(symbol.errors.contains("symbol is missing"), "\(symbol.errors)")
    let folder = try Workspace.run(["call", ".", "x", "i32()"])
    let here = FileManager.default.currentDirectoryPath
    #expect(folder.errors.contains("\(here): is a folder without an Info.plist"), "\(folder.errors)")
  }

  /// What a plugin says of itself costs it nothing of its record.
  @Test(arguments: [("1", Int32(16)), ("0", 18)]) func aRefusalKeepsTheReport(_ words: String, _ status: Int32) throws {
    let library = Workspace.hostile + "/libhostile.so"
    let finished = try Workspace.run(["call", library, "h70_refusal", "i32(i32)", words, "--json"])
    #expect(finished.status == status)
    #expect(!(finished.output + finished.errors).contains("xyzzy"))
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    let denials = try #require(object["denials"] as? [[String: Any]])
    #expect(denials.contains { $0["operation"] as? String == "socket" })
    #expect(object["usage"] != nil)
    #expect(finished.errors.contains("denied by seccomp: socket"), "\(finished.errors)")
  }

  /// The function and its library are found without waiting for the loader.
  @Test func aCrashIsPlaced() throws {
    let exported = try Workspace.run(["call", "libc.so.6", "sem_post", "i32(pointer)", "8"])
    #expect(exported.status == 11)
    #expect(exported.errors.contains("SIGSEGV in sem_post"), "\(exported.errors)")
    #expect(exported.errors.contains("of libc.so.6 in a call"), "\(exported.errors)")
    let loading = try Workspace.run([
      "call", Workspace.hostile + "/load/thread_crashes.so", "x", "i32()", "--wall", "5s",
    ])
    #expect(loading.errors.contains("of thread_crashes.so while loading"), "\(loading.errors)")
  }

  @Test func printsOneObject() throws {
    let finished = try Workspace.run(["call", "libc.so.6", "socket", "i32(i32,i32,i32)", "2", "1", "0", "--json"])
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    #expect(object["result"] as? Int == -1)
    let plugin = try #require(object["plugin"] as? [String: String])
    #expect(plugin["path"]?.hasSuffix("/libc.so.6") == true)
    #expect(plugin["sha256"]?.count == 64)
    let denials = try #require(object["denials"] as? [[String: Any]])
    #expect(denials.contains { $0["operation"] as? String == "socket" && $0["layer"] as? String == "seccomp" })
    let walls = try #require(object["sandbox"] as? [String: [String: String]])
    #expect(walls.count == Wall.allCases.count)
    for wall in [
      "userNamespace", "mountNamespace", "pidNamespace", "networkNamespace", "landlock", "seccomp", "rlimits",
    ] {
      #expect(walls[wall]?["state"] == "full", "\(wall): \(walls[wall] ?? [:])")
    }
  }

  @Test func keepsLargeIntegersExact() throws {
    let finished = try Workspace.run([
      "call", "libc.so.6", "strtoull", "u64(cstring,pointer,i32)", "18446744073709551615", "null", "10", "--json",
    ])
    let object = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    #expect(object["result"] as? String == "18446744073709551615")
  }

  /// Larger than any socket's buffer.
  @Test func passesLargeArguments() throws {
    let file = try Workspace.temporaryFile(String(repeating: "outrider", count: 100_000), suffix: ".bin")
    defer { try? FileManager.default.removeItem(atPath: file) }
    let finished = try Workspace.run(["call", "libc.so.6", "strnlen", "u64(bytes,u64)", "@" + file, "800000"])
    #expect(finished.output.hasPrefix("800000"), "\(finished.errors)")
  }

  @Test func stopsASleeper() throws {
    let finished = try Workspace.run(["call", "libc.so.6", "sleep", "u32(u32)", "30", "--wall", "200ms"])
    #expect(finished.status == 12, "\(finished.errors)")
  }

  @Test func readsAPolicy() throws {
    let policy = try Workspace.temporaryFile(
      "version: 1\nonDenied:\n  socket: kill\nlimits:\n  wall: 5s\n  memory: 4MiB\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    let finished = try Workspace.run([
      "call", "libc.so.6", "socket", "i32(i32,i32,i32)", "2", "1", "0", "--policy", policy,
    ])
    #expect(finished.status == 15, "\(finished.errors)")
    let unknown = try Workspace.temporaryFile("version: 1\nlimit: {}\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: unknown) }
    let refused = try Workspace.run(["call", "libc.so.6", "abs", "i32(i32)", "1", "--policy", unknown])
    #expect(refused.status == 64)
    #expect(refused.errors.contains("2:"), "\(refused.errors)")
  }

  @Test func grantsWhatAPolicyNames() throws {
    let file = try Workspace.temporaryFile("granted", suffix: ".txt")
    defer { try? FileManager.default.removeItem(atPath: file) }
    let policy = try Workspace.temporaryFile("version: 1\nread: [\"\(file)\"]\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    let granted = try Workspace.run(["call", "libc.so.6", "open", "i32(cstring,i32)", file, "0", "--policy", policy])
    #expect(
      (Int32(granted.output.split(separator: "\n").first ?? "") ?? -1) >= 0, "\(granted.output) \(granted.errors)")
    let written = try Workspace.run(["call", "libc.so.6", "open", "i32(cstring,i32)", file, "1", "--policy", policy])
    #expect(written.output.hasPrefix("-1"), "\(written.output) \(written.errors)")
    let refused = try Workspace.run([
      "call", "libc.so.6", "open", "i32(cstring,i32)", "/etc/hostname", "0", "--observe",
    ])
    #expect(refused.output.hasPrefix("-1"))
    #expect(refused.errors.contains("/etc/hostname"), "\(refused.errors)")
  }

  /// Both paths of a call that has two, and relative ones from the root, where a plugin begins.
  @Test(arguments: [
    (["rename", "i32(cstring,cstring)", "/tmp/x", "/etc/y"], "/etc/y"),
    (["linkat", "i32(i32,cstring,i32,cstring,i32)", "-100", "tmp/x", "-100", "../srv/y", "0"], "/srv/y"),
    (["open", "i32(cstring,i32)", "../etc/shadow", "0"], "/etc/shadow"),
    (["openat", "i32(i32,cstring,i32)", "-100", "../../root/.ssh", "0"], "/root/.ssh"),
  ])
  func observesEveryPath(_ call: [String], _ target: String) throws {
    let end = try Workspace.run(["call", "libc.so.6"] + call + ["--observe", "--json"])
    #expect(end.status == 0 && end.errors.isEmpty, "\(end.errors)")
    let report = try #require(try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any])
    let denials = try #require(report["denials"] as? [[String: Any]])
    #expect(
      denials.contains {
        $0["layer"] as? String == "files" && ($0["target"] as? String)?.hasSuffix(target) == true
      }, "\(denials)")
    #expect(denials.count == 1, "\(denials)")
  }

  /// What is refused is recorded, wherever it lies, and what is found isn't.
  @Test func observesWhatIsRefusedAlone() throws {
    let file = try Workspace.temporaryFile("x")
    // The plugin has a folder of its own in that place, wherever TMPDIR is.
    let hidden = "/tmp/outrider-test-\(UUID().uuidString)"
    try Data("x".utf8).write(to: URL(fileURLWithPath: hidden))
    defer { for path in [file, hidden] { try? FileManager.default.removeItem(atPath: path) } }
    for (path, isRefused) in [
      ("/usr/bin/env", true), ("/usr/include", true), (file, true), (hidden, true), ("/tmp/missing", false),
      ("/etc/localtime", false), ("/usr/lib/os-release", false), ("/lib64/ld-linux-x86-64.so.2", false),
      ("/dev/null", false), ("/dev/zero", true), ("/proc/self/status", true),
    ] where FileManager.default.fileExists(atPath: path) != path.hasSuffix("/missing") {
      let end = try Workspace.run([
        "call", "libc.so.6", "open", "i32(cstring,i32)", path, "0", "--observe",
      ])
      #expect(end.errors.contains("denied by files: openat(\(path))") == isRefused, "\(path): \(end)")
      #expect(end.output.hasPrefix("-1") == (isRefused || path.hasSuffix("/missing")), "\(path): \(end)")
    }
    // What it makes there itself is refused by no wall.
    let made = try Workspace.run([
      "call", "libc.so.6", "open", "i32(cstring,i32,i32)", hidden, "\(O_CREAT | O_WRONLY)", "384", "--observe",
    ])
    #expect(made.output.first?.isNumber == true, "\(made)")
    #expect(!made.errors.contains("denied by files"), "\(made)")
  }

  /// A link to a folder, within a folder that is granted, too: a plugin that follows it arrives.
  @Test(arguments: [
    "read: [a, a/link]", "read: [a/link, a]", "read: [a]\nwrite: [a/link]", "read: [a, a/link/deep]",
    "write: [b]\nread: [a/link/deep, a]",
  ])
  func grantsWhatLinksLeadTo(_ grants: String) throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["a", "b/deep"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    for name in ["a/own", "b/deep/file"] { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/a/link", withDestinationPath: "../b")
    let lists = grants.replacing(/[ab](\/\w+)*(?=[,\]])/) { "\(folder)/\($0.output.0)" }
    let policy = try Workspace.temporaryFile("version: 1\n\(lists)\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    func opens(_ name: String, _ flags: Int32) throws -> Bool {
      let end = try Workspace.run([
        "call", "libc.so.6", "open", "i32(cstring,i32)", "\(folder)/\(name)", "\(flags)", "--policy", policy,
      ])
      #expect(end.status == 0, "\(end.errors)")
      return (Int32(end.output.split(separator: "\n").first ?? "") ?? -1) >= 0
    }
    #expect(try opens("a/own", O_RDONLY))
    #expect(try !opens("a/own", O_WRONLY))
    #expect(try opens("a/link/deep/file", O_RDONLY))
    #expect(try opens("a/link/deep/file", O_WRONLY) == grants.contains("write: [a/link]"))
  }

  /// The narrower grant holds, in whatever order they stand.
  @Test(arguments: ["read: [a/b]\nwrite: [a]", "write: [a]\nread: [a/b]", "read: [a]\nwrite: [a/b]"])
  func narrowerGrantsHold(_ grants: String) throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder + "/a/b", withIntermediateDirectories: true)
    for name in ["a/file", "a/b/file"] { try Data().write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
    let lists = grants.replacing(/a(\/b)?(?=\])/) { "\(folder)/\($0.output.0)" }
    let policy = try Workspace.temporaryFile("version: 1\n\(lists)\n", suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    for (name, isWritable) in [
      ("a/file", grants.contains("write: [a]")), ("a/b/file", grants.contains("write: [a/b]")),
    ] {
      let end = try Workspace.run([
        "call", "libc.so.6", "open", "i32(cstring,i32)", "\(folder)/\(name)", "\(O_WRONLY)", "--policy", policy,
      ])
      #expect(end.output.hasPrefix("-1") != isWritable, "\(name): \(end)")
    }
  }

  /// What lies beside the runner is no plugin's runtime.
  @Test func theRunnersFolderIsHidden() throws {
    for name in ["outrider", "outrider-runner", "."] {
      let end = try Workspace.run([
        "call", "libc.so.6", "open", "i32(cstring,i32)", "\(Workspace.products)/\(name)", "0", "--observe",
      ])
      #expect(end.output.hasPrefix("-1"), "\(name): \(end)")
      #expect(end.errors.contains("denied by files"), "\(name): \(end)")
    }
  }

  /// Each thread would have as many as all of them may have.
  @Test func noThreadHasDescriptorsOfItsOwn() throws {
    for (flags, result) in [(0, "0"), (4, "0"), (2, "-1"), (6, "-1")] {
      let end = try Workspace.run([
        "call", "libc.so.6", "close_range", "i32(u32,u32,u32)", "1000", "4294967295", "\(flags)",
      ])
      #expect(end.output.hasPrefix(result + "\n") && end.errors.contains("close_range") == (result == "-1"), "\(end)")
    }
  }

  /// What a plugin may write to isn't what decides where a grant leads.
  @Test func grantsNothingBehindPlantedLinks() throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder + "/own/x", withIntermediateDirectories: true)
    let lists =
      [("write: [\(folder)/own]\nread: [\(folder)/own/x]", [String]())]
      + [("read: [\(folder)/own/x]", ["--container", folder + "/own"])]
    for isPlanted in [false, true] {
      if isPlanted {
        try FileManager.default.removeItem(atPath: folder + "/own/x")
        try FileManager.default.createSymbolicLink(atPath: folder + "/own/x", withDestinationPath: "/etc")
      }
      for (grants, options) in lists {
        let policy = try Workspace.temporaryFile("version: 1\n\(grants)\n", suffix: ".yaml")
        defer { try? FileManager.default.removeItem(atPath: policy) }
        let end = try Workspace.run(["call", "libc.so.6", "abs", "i32(i32)", "-5", "--policy", policy] + options)
        #expect(end.status == (isPlanted ? 64 : 0), "\(end)")
        #expect(end.errors.contains("symbolic link 'x' in a folder that plugins may write to") == isPlanted, "\(end)")
      }
    }
  }

  @Test func doctorProvesEveryLimit() throws {
    let finished = try Workspace.run(["doctor", "--json"])
    #expect(finished.status == 0, "\(finished.output)")
  }
}
