import Foundation
import TestSupport
import Testing

/// `outrider policy`: what a plugin may do, checked, compared and proved.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct PolicyCommandTests {
  private static func folder(_ files: [String: String]) throws -> String {
    let folder = try LibraryTests.folder()
    for (name, text) in files {
      try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }
    return folder
  }

  /// Debian's own libraries, which Tests/install-dependencies installs.
  private static let libraries = [
    "zlib", "libc", "sqlite", "libxml2", "libmagic", "libpng", "libjpeg", "liblua", "libpython3", "libavformat",
    "imagemagick",
  ]

  @Test("the examples hold on this machine", arguments: libraries) func examples(name: String) throws {
    let end = try Workspace.run(["policy", "test", "\(Workspace.root)/Examples/policies/\(name).test.yaml"])
    #expect(end.status == 0 && end.output.contains("as expected, 0 not"), "\(end)")
    let check = try Workspace.run([
      "policy", "check", "--strict", "\(Workspace.root)/Examples/policies/computation.yaml",
    ])
    #expect(check.status == 0, "\(check)")
  }

  @Test(
    "what isn't as expected is named with what was seen, and the exit status is 1",
    arguments: ["table", "json", "junit", "html"])
  func failure(format: String) throws {
    let folder = try Self.folder([
      "t.yaml": """
      plugin: libc.so.6
      tests:
        - {call: abs, signature: i32(i32), arguments: [-5], expect: [returned 5, no denials]}
        - {name: wrong, call: abs, signature: i32(i32), arguments: [-5], expect: [returned 6]}
        - {name: missing, call: no_such_function, expect: [outcome entryPointMissing]}
      """
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["policy", "test", "\(folder)/t.yaml", "--format", format, "--output", "\(folder)/out"])
    #expect(end.status == 1 && end.output.isEmpty && end.errors.contains("3 tests: 2 as expected, 1 not"), "\(end)")
    let text = try String(contentsOfFile: "\(folder)/out", encoding: .utf8)
    #expect(text.contains("returned 6") && text.contains("returned 5") && text.contains("wrong"), "\(text)")
    if format == "table" { #expect(text.contains("expected returned 6; returned 5") && text.contains("t.yaml:4")) }
  }

  @Test("a test that a limit ended is told the line of its policy, or of its own limits, and that works") func limited()
    throws
  {
    let folder = try Self.folder(["p.yaml": "version: 2\nlimits: {memory: 12MiB}\n"])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <stdlib.h>
      #include <string.h>
      int fill(int size) { memset(malloc(size), 1, size); return 1; }
      """, "-O0 -o fill.so", in: folder)
    let call = "call: fill, signature: i32(i32), arguments: [20000000], expect: [returned 1]"
    func run(_ own: String) throws -> Workspace.Finished {
      try "plugin: ./fill.so\npolicy: p.yaml\ntests: [{\(call)\(own)}]\n"
        .write(toFile: "\(folder)/t.yaml", atomically: true, encoding: .utf8)
      return try Workspace.run(["policy", "test", "\(folder)/t.yaml"])
    }
    let end = try run("")
    #expect(end.status == 1 && end.output.contains("; policy: limits: {memory: 24MiB}  # twice as much"), "\(end)")
    let own = try run(", limits: {memory: 14MiB}")
    #expect(own.status == 1 && own.output.contains("; test: limits: {memory: 28MiB}  # twice as much"), "\(own)")
    #expect(try run(", limits: {memory: 28MiB}").status == 0)
  }

  @Test("an interrupted command says that its report isn't written, and why") func unwrittenReport() throws {
    let folder = try Self.folder([
      "t.yaml": "plugin: ./slow.so\npolicy: p.yaml\ntests: [{call: slow, signature: i32()}]\n", "begun": "",
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <unistd.h>
      int slow(void) { write(open("\(folder)/begun", O_WRONLY), "x", 1); for (;;) pause(); }
      """, "-o slow.so", in: folder)
    try "version: 1\nwrite: [\(folder)/begun]\nlimits: {wall: 60s}\n"
      .write(toFile: "\(folder)/p.yaml", atomically: true, encoding: .utf8)
    let script = """
      mkdir \(folder)/out
      \(Workspace.outrider) policy test \(folder)/t.yaml --output \(folder)/out/report & p=$!
      until [ -s \(folder)/begun ]; do kill -0 $p || exit 1; sleep 0.02; done
      rmdir \(folder)/out; kill -TERM $p; wait $p
      """
    let end = try Workspace.run(["-c", script], program: "/bin/sh")
    #expect(end.status == 143 && end.errors.contains("interrupted after 0 of 1 tests"), "\(end)")
    #expect(end.errors.contains("the report isn't written: ") && end.errors.contains("\(folder)/out"), "\(end)")
  }

  @Test("a plugin of one's own is found beside the test file, and its policy, too") func relative() throws {
    let folder = try Self.folder([
      "p.yaml": "version: 1\nonDenied: {socket: kill}\n",
      "t.yaml":
        "plugin: ./evil.so\npolicy: p.yaml\ntests: [{call: evil, expect: [outcome policyViolation, deny socket]}]",
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile("#include <sys/socket.h>\nvoid evil(void) { socket(2, 1, 0); }", "-o evil.so", in: folder)
    #expect(try Workspace.run(["policy", "test", "\(folder)/t.yaml"]).status == 0)
  }

  @Test(
    "what is recorded for a library is enough for it, and grants nothing that its tests expect to be denied",
    arguments: [
      "zlib", "sqlite", "libxml2", "libmagic", "libpng", "libjpeg", "liblua", "libpython3", "libavformat",
      "imagemagick",
    ])
  func recordedExamples(name: String) throws { _ = try Self.record(name) }

  @Test(
    "with --glob as well, where a library reads many files of one kind they have one line",
    arguments: [("imagemagick", "/etc/ImageMagick-6/*.xml\"  # "), ("libpython3", ".so\"  # ")])
  func recordedPatterns(name: String, line: String) throws {
    let (plain, patterns) = (try Self.record(name), try Self.record(name, ["--glob"]))
    #expect(!plain.contains("in the place of") && patterns.contains("in the place of"), "\(patterns)")
    func grants(_ policy: String) -> Int { policy.matches(of: #/(?m)^ +- "?\//#).count }
    #expect(patterns.contains(line) && grants(patterns) < grants(plain), "\(patterns)")
  }

  /// The policy of an example, which its tests are then run under.
  private static func record(_ name: String, _ options: [String] = []) throws -> String {
    let folder = try folder([:])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let examples = Workspace.root + "/Examples/policies"
    let tests = try String(contentsOfFile: "\(examples)/\(name).test.yaml", encoding: .utf8)
    try tests.replacing(#/(?m)^policy: .*$/#, with: "policy: recorded.yaml")
      .write(toFile: "\(folder)/t.yaml", atomically: true, encoding: .utf8)
    // Which names what is to be written.
    let end = try Workspace.run(
      ["policy", "record", "--output", "\(folder)/recorded.yaml"] + options + ["\(folder)/t.yaml"])
    // What these two ask of /proc and /sys no policy grants unless its author says so, and they do without.
    let isDenied = ["libavformat", "imagemagick"].contains(name)
    #expect(end.status == (isDenied ? 1 : 0), "\(end)")
    let proof = try Workspace.run(["policy", "test", "\(folder)/t.yaml"])
    let policy = try String(contentsOfFile: "\(folder)/recorded.yaml", encoding: .utf8)
    #expect(proof.status == 0, "\(proof) with \(policy)")
    let strict = try Workspace.run(["policy", "check", "--strict", "\(folder)/recorded.yaml"])
    #expect(strict.status == 0, "\(strict) with \(policy)")
    return policy
  }

  @Test("a wake and a call are recorded until they get what one file after the other leads them to") func recorded()
    throws
  {
    let folder = try Self.folder(["first": "second", "second": "42", "m.json": Workspace.manifest])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Not below /tmp, in whose place a plugin has a folder of its own.
    let data = "/var/tmp/outrider-test-\(UUID().uuidString)"
    try FileManager.default.moveItem(atPath: folder, toPath: data)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: data) }
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      #include <unistd.h>
      int chase(const char *folder, unsigned bytes) {
        char name[64] = "first", path[512];
        for (int i = 0; i < 2; i++) {
          snprintf(path, sizeof path, "%s/%s", folder, name);
          int file = open(path, O_RDONLY);
          if (file < 0) return -1;
          ssize_t count = read(file, name, sizeof name - 1);
          close(file);
          name[count < 0 ? 0 : count] = 0;
        }
        memset(malloc(bytes), 1, bytes);
        snprintf(path, sizeof path, "%s/written", folder);
        int file = open(path, O_WRONLY | O_CREAT, 0644);
        if (file < 0) return -2;
        close(file);
        return atoi(name);
      }
      """, "-O0 -o chase.so", in: folder)
    let call = ["call", "\(folder)/chase.so", "chase", "i32(cstring,u32)", data, "20000000"]
    let end = try Workspace.run(["policy", "record", "--output", "\(folder)/p.yaml"] + call)
    let text = try String(contentsOfFile: "\(folder)/p.yaml", encoding: .utf8)
    #expect(end.status == 0 && end.errors.contains("granting \(data)/second: read"), "\(end) \(text)")
    #expect(text.contains("- \(data)/first  # openat") && text.contains("write:\n  - \(data)  # openat"), "\(text)")
    let again = try Workspace.run(call + ["--policy", "\(folder)/p.yaml", "--observe"])
    #expect(again.output == "42\n" && !again.errors.contains("denied"), "\(again)")

    let extensions = [
      "run", "\(Workspace.root)/Plugins/hostile/build/good.so", "--request", "install", "--manifest", "\(data)/m.json",
    ]
    let wake = try Workspace.run(["policy", "record"] + extensions)
    #expect(wake.status == 0 && wake.output.contains("version: 1") && !wake.output.contains("read:"), "\(wake)")
  }

  @Test("a test expects a text with its line ends and spaces, of the last step and of one before") func texts() throws {
    let folder = try Self.folder([
      "t.yaml": #"""
      plugin: ./text.so
      tests:
        - {call: lines, signature: cstring(), expect: ["returned first commit\n"]}
        - {call: lines, signature: cstring(), expect: ['returned first commit\u{a}']}
        - {call: spaces, signature: cstring(), expect: ["returned  x "]}
        - steps:
            - {call: lines, signature: cstring(), returns: "first commit\n"}
            - {call: spaces, signature: cstring(), returns: " x "}
        - {call: spaces, signature: cstring(), expect: [returned x]}
      """#
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      #"const char *lines(void) { return "first commit\n"; } const char *spaces(void) { return " x "; }"#, "-o text.so",
      in: folder)
    let end = try Workspace.run(["policy", "test", "\(folder)/t.yaml"])
    #expect(end.status == 1 && end.output.components(separatedBy: "NOT").count == 2, "\(end)")
    #expect(end.output.contains("t.yaml:9"), "\(end)")
  }

  @Test("what can't be recorded ends with one sentence and its own status") func notRecorded() throws {
    let folder = try Self.folder([
      "denied.yaml": "plugin: libc.so.6\ntests: [{call: getpid, signature: i32(), expect: [deny /etc/passwd]}]"
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let cases: [([String], Int32, String)] = [
      ([], 64, "Missing expected argument"), (["--"], 64, "name what to run"), (["call"], 64, "library"),
      (["none.yaml"], 66, "none.yaml"),
      (["\(folder)/denied.yaml"], 64, "nothing to record"), (["--rounds", "0", "call", "x"], 64, "--rounds"),
      (["--max-memory", "lots", "call", "libc.so.6", "abs", "i32(i32)", "1"], 64, "--max-memory"),
      (["call", "none.so", "f", "i32()"], 66, "none.so"),
      (["--output", "", "call", "libc.so.6", "abort", "void()"], 64, "--output names no file"),
      (["--output", folder, "call", "libc.so.6", "abort", "void()"], 73, "is a folder"),
      (["--output", "\(folder)/none/p.yaml", "call", "libc.so.6", "abort", "void()"], 73, "there is no folder"),
      // Nothing is run for what can't be kept.
      (["--output", "/proc/p.yaml", "call", "libc.so.6", "abort", "void()"], 73, "can't be written"),
      (["call", "libc.so.6", "abs", "i32(i32)", "1", "--trace"], 64, "--trace"),
      (["call", "libc.so.6", "open", "i32(cstring,i32)", "/proc/self/status", "0"], 1, "no policy grants it"),
      (["call", "libc.so.6", "abort", "void()"], 11, "didn't come to its end"),
      (["call", "libc.so.6", "open", "i32(cstring,i32)", "/etc/shadow", "0"], 1, "not granted: /etc/shadow"),
      (["--max-time", "2s", "call", "libc.so.6", "pause", "i32()", "--wall", "300ms"], 12, "wallTimeExceeded"),
      (["--max-time", "300ms", "call", "libc.so.6", "pause", "i32()"], 12, "--max-time ended it, which is 300 ms"),
    ]
    for (arguments, status, words) in cases {
      let end = try Workspace.run(["policy", "record"] + arguments)
      #expect(end.status == status && end.errors.contains(words), "\(arguments): \(end)")
    }
  }

  @Test("a new version is compared by what it does, needs and uses, and grants that it doesn't need are listed")
  func compared() throws {
    let folder = try Self.folder([
      "t.yaml":
        "plugin: none\ntests: [{name: answers, call: answer, signature: i32()}, {call: same, signature: i32()}]",
      "p.yaml": "version: 1\nread: [/etc/hostname, /etc/passwd]\nwrite: [/var/tmp]\n",
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      "int answer(void) { return 41; } int same(void) { return 1; } int old_only(void) { return 0; }", "-o old.so",
      in: folder)
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <stdlib.h>
      #include <string.h>
      #include <sys/socket.h>
      int same(void) { return 1; }
      int answer(void) {
        open("/etc/passwd", O_RDONLY);
        socket(AF_INET, SOCK_STREAM, 0);
        memset(malloc(3 << 20), 1, 3 << 20);
        return 42;
      }
      """, "-O0 -Wl,--no-as-needed -l:libm.so.6 -o new.so", in: folder)
    let files = ["\(folder)/old.so", "\(folder)/new.so", "\(folder)/t.yaml"]
    let end = try Workspace.run(["policy", "compare"] + files + ["--policy", "\(folder)/p.yaml"])
    #expect(end.status == 1, "\(end)")
    for line in [
      "+ needs libm.so.6", "+ no longer exports old_only", "+ answers: returned 42, was returned 41",
      "+ tries seccomp: socket",
      "+ /etc/passwd: read, was nothing", "+ uses 3", "granted and not needed: read: /etc/hostname",
      "granted and not needed: write: /var/tmp",
    ] { #expect(end.output.contains(line), "\(line): \(end)") }
    #expect(!end.output.contains("same") && !end.output.contains("not needed: read: /etc/passwd"), "\(end)")
    let wide = "version: 2\nenvironment: [MAGIC, LANG]\nlimits: {memory: 512MiB}\n"
    try wide.write(toFile: "\(folder)/wide.yaml", atomically: true, encoding: .utf8)
    let excess = try Workspace.run(["policy", "compare"] + files + ["--policy", "\(folder)/wide.yaml"])
    #expect(
      excess.output.contains("granted and not needed: environment: MAGIC, which no library that it loads has in it\n"),
      "\(excess)")
    // The C library's setlocale(3) reads it.
    #expect(!excess.output.contains("environment: LANG"), "\(excess)")
    #expect(
      excess.output.contains("far above what was used: limits.memory: 512MiB; the largest test used 3"), "\(excess)")
    let back = try Workspace.run(["policy", "compare", files[1], files[0], files[2], "--json"])
    #expect(back.status == 1 && back.output.contains("no longer needs libm.so.6"), "\(back)")
    let same = try Workspace.run(["policy", "compare", files[0], files[0], files[2]])
    #expect(same.status == 0 && same.output.isEmpty && same.errors.contains("the same"), "\(same)")
    #expect(
      !end.output.contains("processes") && !back.output.contains("processes"), "they weren't asked for: \(end) \(back)")
    #expect(try Workspace.run(["policy", "compare", files[0], "\(folder)/none.so", files[2]]).status == 66)
  }

  @Test("processes that a policy allows are listed where the new version starts none", .withMemoryCgroup)
  func comparedProcesses() throws {
    let folder = try Self.folder([
      "t.yaml": "plugin: none\ntests: [{call: work, signature: i32()}]",
      "p.yaml": "version: 2\nprocesses: 3\n",
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <sys/wait.h>
      #include <unistd.h>
      int work(void) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        return waitpid(child, 0, 0) == child;
      }
      """, "-o forks.so", in: folder)
    try LibraryTests.compile("int work(void) { return 1; }", "-o alone.so", in: folder)
    let line = "granted and not needed: processes: 3\n"
    for (old, new, isListed) in [("forks", "alone", true), ("alone", "forks", false), ("forks", "forks", false)] {
      let end = try Workspace.run([
        "policy", "compare", "\(folder)/\(old).so", "\(folder)/\(new).so", "\(folder)/t.yaml", "--policy",
        "\(folder)/p.yaml",
      ])
      #expect(end.output.contains(line) == isListed && end.status == (new == "forks" && old != new ? 1 : 0), "\(end)")
      #expect(old != new || end.errors.contains("the same"), "\(end)")
    }
  }

  @Test("the corpus is tested from the command line, and a wall that is left open shows in it") func corpus() throws {
    let hostile = "\(Workspace.root)/Plugins/hostile"
    let all = try Workspace.run(["policy", "test", "--corpus", hostile, "--rows", "H61,H82,H107"])
    #expect(all.status == 0 && all.output.contains(", 0 not"), "\(all)")
    var open = [("descriptors", "H82 h82_unexpected_descriptors")]
    // Root's plugins have a user of their own, so that no other process is signalled.
    if geteuid() == 0 { open.append(("pidNamespace", "H61 h61_signal_everyone")) }
    for (wall, row) in open {
      let end = try Workspace.run(
        ["policy", "test", "--corpus", hostile, "--rows", "H61,H82", "--without", wall, "--failures"])
      let through = end.output.split(separator: "\n").filter { $0.hasPrefix("NOT") || $0.hasPrefix("THROUGH") }
      #expect(end.status == 1 && through.count == 1 && through[0].contains(row), "\(wall): \(end)")
    }
    let folder = try Self.folder(["expected.tsv": "# nothing\n"])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let cases: [([String], Int32, String)] = [
      (["--corpus", "\(folder)/none"], 66, "none"), (["--corpus", folder], 64, "there is no row"),
      (["--corpus", hostile, "--without", "watchdog"], 64, "waits for ever"),
      (["--corpus", hostile, "--without", "moat"], 64, "landlock"),
      (["--corpus", hostile, "--rows", "H9999"], 64, "H9999"),
      (["--without", "landlock", "t.yaml"], 64, "needs --corpus"), ([], 64, "--corpus"),
      (["--corpus", hostile, folder], 64, "one folder"),
    ]
    for (arguments, status, words) in cases {
      let end = try Workspace.run(["policy", "test"] + arguments)
      #expect(end.status == status && end.errors.contains(words), "\(arguments): \(end)")
    }
  }

  @Test("files that are wrong or missing end with their own status and one sentence")
  func wrongInputs() throws {
    let folder = try Self.folder([
      "good.yaml": "version: 1\n", "bad.yaml": "version: 1\nreed: [/x]\n", "wide.yaml": "version: 1\nread: [/etc]\n",
      "names.yaml": "version: 2\nfiles:\n  read: [/etc]\nnetwork: pairs\n",
      "child.yaml": "version: 2\nextends: ./names.yaml\n",
      "shared.yaml": "version: 1\nwrite: [/var/tmp]\n",
      "t.yaml": "plugin: libc.so.6\ntests: [{call: abs, signature: i32(i32)}]",
      "u.yaml": "plugin: ./none.so\ntests: [{call: a}]",
      "v.yaml": "plugin: libc.so.6\npolicy: none.yaml\ntests: [{call: a}]",
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let cases: [([String], Int32, String)] = [
      (["check", "good.yaml"], 0, "a policy"), (["check", "bad.yaml"], 64, "bad.yaml:2:1: \"reed\" isn't a key"),
      (["check", "none.yaml"], 66, "none.yaml"), (["check", "wide.yaml"], 0, "as a whole"),
      (["check", "wide.yaml"], 0, "wide.yaml:2:8: warning: /etc as a whole"),
      (["check", "names.yaml"], 0, "names.yaml:3:10: warning: /etc would hide the plugin's own"),
      (["check", "child.yaml"], 0, "names.yaml:3:10: warning: /etc would hide the plugin's own"),
      (["check", "shared.yaml"], 0, "shared.yaml:2:9: warning: /var/tmp is every user's"),
      (["check", "--strict", "wide.yaml"], 65, "as a whole"), (["check", "none.yaml", "bad.yaml"], 64, "reed"),
      (["show", "bad.yaml"], 64, "reed"), (["show", "none.yaml"], 66, "none.yaml"), (["show"], 0, "no network"),
      (["diff", "good.yaml", "wide.yaml"], 1, "+ /etc: read, was nothing"),
      (["diff", "wide.yaml", "good.yaml"], 0, "- /etc: nothing, was read"),
      (["diff", "good.yaml", "none.yaml"], 66, "none.yaml"),
      (["test", "t.yaml"], 64, "t.yaml:2:9: i32(i32) takes 1 arguments"), (["test", "u.yaml"], 66, "none.so"),
      (["test", "v.yaml"], 66, "none.yaml"), (["test", "none.yaml"], 66, "none.yaml"),
      (["test", "good.yaml"], 64, "needs"),
      (["test", "t.yaml", "--format", "xml"], 64, "xml"),
      (["test", "t.yaml", "--format", "html", "--json"], 64, "--json and --format html contradict each other"),
      (["test", "t.yaml", "--format", "table", "--json"], 64, "--json and --format table contradict each other"),
      (["test", "t.yaml", "--format", "json", "--json"], 64, "t.yaml:2:9: i32(i32) takes 1 arguments"),
      (["show", "good.yaml", "--source", "--json"], 64, "--source and --json contradict each other"),
      (["show", "--groups", "--source"], 64, "--source and --groups contradict each other"),
      (["show", "good.yaml", "--groups"], 64, "--groups lists what any policy may name; leave the file out"),
    ]
    for (arguments, status, words) in cases {
      let given = arguments.map { $0.hasSuffix(".yaml") ? "\(folder)/\($0)" : $0 }
      let end = try Workspace.run(["policy"] + given)
      #expect(end.status == status && (end.output + end.errors).contains(words), "\(arguments): \(end)")
    }
  }
}
