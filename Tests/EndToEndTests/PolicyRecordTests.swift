import Foundation
import Glibc
import TestSupport
import Testing

/// `outrider policy record` with files that a policy has trouble with.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct PolicyRecordTests {
  /// Not below /tmp, in whose place a plugin has a folder of its own.
  static func data() throws -> String {
    let path = "/var/tmp/outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  static func write(_ path: String, mode: mode_t = 0o644) throws {
    try #require(FileManager.default.createFile(atPath: path, contents: Data("x".utf8)))
    try #require(chmod(path, mode) == 0)
  }

  /// C: whether a file of a folder can be opened.
  private static let has = """
    #include <fcntl.h>
    #include <stdio.h>
    #include <unistd.h>
    static int has(const char *folder, const char *name) {
      char path[512];
      snprintf(path, sizeof path, "%s/%s", folder, name);
      int file = open(path, O_RDONLY);
      if (file >= 0) close(file);
      return file >= 0;
    }
    """

  @Test("files whose names no terminal may see, or that are longer than a report's line, are recorded as they are")
  func names() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    let long = "\(data)/\(String(repeating: "a", count: 210))"
    let files = ["\(data)/\u{1b}[31mred\u{202e}", long + "b", long + "c"]
    for file in files { try Self.write(file) }
    for file in files {
      let call = ["call", "libc.so.6", "open", "i32(cstring,i32)", file, "0"]
      let end = try Workspace.run(["policy", "record", "--output", "\(data)/p.yaml"] + call)
      #expect(end.status == 0 && !end.errors.contains("\u{1b}"), "\(end)")
      let again = try Workspace.run(call + ["--policy", "\(data)/p.yaml", "--observe"])
      #expect(again.output != "-1\n" && !again.errors.contains("denied"), "\(again)")
    }
    // Two that begin alike are two.
    try LibraryTests.compile(
      "#include <fcntl.h>\nint both(const char *a, const char *b) { return open(a, 0) + open(b, 0); }", "-o both.so",
      in: data)
    let end = try Workspace.run(
      ["policy", "record", "--output", "\(data)/p.yaml", "call", "\(data)/both.so", "both", "i32(cstring,cstring)"]
        + files.suffix(2))
    let text = try String(contentsOfFile: "\(data)/p.yaml", encoding: .utf8)
    #expect(end.status == 0 && files.suffix(2).allSatisfy { text.contains("- \($0)  # open") }, "\(end) \(text)")
  }

  @Test("what needs a review is granted where --allow and --jit say so, and the run comes to its end then")
  func reviewed() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    let source = """
      #include <string.h>
      #include <sys/mman.h>
      int processors(void) { return has("/proc", "cpuinfo") + has("/sys/devices/system/cpu", "online"); }
      int made(void) {
        unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
        void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(memory, code, sizeof code);
        return mprotect(memory, 4096, PROT_READ | PROT_EXEC) ? -1 : ((int (*)(void))memory)();
      }
      """
    try LibraryTests.compile("\(Self.has)\n\(source)", "-o l.so", in: data)
    for (options, function, value) in [
      (["--allow", "/proc/", "--allow", "/sys"], "processors", "2\n"), (["--jit"], "made", "42\n"),
    ] {
      let call = ["call", "\(data)/l.so", function, "i32()"]
      let plain = try Workspace.run(["policy", "record"] + call)
      #expect(plain.status == 1 && plain.output.contains("# not granted:"), "\(plain)")
      let end = try Workspace.run(["policy", "record", "--output", "\(data)/p.yaml"] + options + call)
      let again = try Workspace.run(call + ["--policy", "\(data)/p.yaml", "--observe"])
      #expect(end.status == 0 && again.output == value && !again.errors.contains("denied"), "\(end) \(again)")
    }
    for folder in ["proc", "/", "/a/../b"] {
      let end = try Workspace.run(["policy", "record", "--allow", folder, "call", "libc.so.6", "abs", "i32(i32)", "1"])
      #expect(end.status == 64 && end.errors.contains("--allow '\(folder)' isn't the absolute path"), "\(end)")
    }
    let absent = try Workspace.run([
      "policy", "record", "--allow", "/nowhere", "call", "libc.so.6", "abs", "i32(i32)", "1",
    ])
    #expect(absent.status == 64 && absent.errors.contains("--allow '/nowhere' isn't there"), "\(absent)")
  }

  @Test("a policy that isn't text is refused, and a path has one name whatever its slashes are") func texts() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    let policy = "\(data)/p.yaml"
    try Data("version: 1\nread: [/srv/\u{e9}]\n".unicodeScalars.map { UInt8($0.value) }).write(
      to: URL(filePath: policy))
    let end = try Workspace.run(["policy", "check", policy])
    #expect(end.status == 64 && end.output.contains("p.yaml: isn't text in UTF-8"), "\(end)")
    try Self.write("\(data)/file")
    for text in ["version: 1\nread: ['\(data)//./file/']\n", "version: 2\nfiles: {read: ['\(data)//./file/']}\n"] {
      try text.write(toFile: policy, atomically: true, encoding: .utf8)
      let call = ["call", "libc.so.6", "access", "i32(cstring,i32)", "\(data)/file", "4", "--policy", policy]
      #expect(try Workspace.run(call).output == "0\n")
    }
  }

  @Test("a file that other users may not read is granted with a remark") func remarks() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    for (name, mode, isRemarked) in [("key", 0o600, true), ("page", 0o644, false)] as [(String, mode_t, Bool)] {
      let file = "\(data)/\(name)"
      try Self.write(file, mode: mode)
      let end = try Workspace.run(["policy", "record", "call", "libc.so.6", "open", "i32(cstring,i32)", file, "0"])
      #expect(end.status == 0 && end.output.contains("- \(file)  # open"), "\(end)")
      #expect(end.output.contains("; other users may not read this file") == isRemarked, "\(end)")
      #expect(end.errors.contains("granted, though other users may not read it: \(file)") == isRemarked, "\(end)")
    }
  }

  @Test("who asks whether it may write what is shown read-only is reported, granted nothing, and denied nothing")
  func questions() throws {
    let call = ["call", "libc.so.6", "access", "i32(cstring,i32)", "/usr/share/zoneinfo", "2"]
    let seen = try Workspace.run(call + ["--observe"])
    #expect(seen.output == "-1\n" && seen.errors.contains("denied by files: access(/usr/share/zoneinfo)"), "\(seen)")
    let end = try Workspace.run(["policy", "record"] + call)
    #expect(end.status == 0 && !end.output.contains("write:") && !end.errors.contains("still denied"), "\(end)")
    #expect(end.output.contains("# not granted: /usr/share/zoneinfo; it asked whether it may write"), "\(end)")
    // What isn't read-only, and who doesn't ask for that.
    for (path, mode) in [("/usr/share/zoneinfo", "4"), ("/dev/null", "6"), ("/tmp", "7")] {
      let end = try Workspace.run(
        ["call", "libc.so.6", "access", "i32(cstring,i32)", path, mode, "--observe"])
      #expect(end.output == "0\n" && !end.errors.contains("denied"), "\(end)")
    }
  }

  @Test("who looks at each folder on the way to a file is granted the names in one of the system's with --allow")
  func walks() throws {
    let data = try Self.data()
    let folder = try LibraryTests.folder()
    defer { for path in [data, folder] { try? FileManager.default.removeItem(atPath: path) } }
    try Self.write("\(data)/file")
    let policy = "\(folder)/p.yaml"
    let call = ["call", "libc.so.6", "realpath", "cstring(cstring,pointer)", "\(data)/file", "null"]
    let refused = try Workspace.run(["policy", "record"] + call)
    #expect(refused.status == 1 && refused.errors.contains("--allow /var grants the names in it"), "\(refused)")
    let end = try Workspace.run(["policy", "record", "--allow", "/var", "--output", policy] + call)
    #expect(end.status == 0, "\(end)")
    let after = try Workspace.run(call + ["--policy", policy, "--observe"])
    #expect(after.output.contains("\(data)/file") && !after.errors.contains("denied"), "\(after)")
  }

  @Test("a name that no file of YAML can have is written as a text that one can") func noncharacters() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let policy = "\(folder)/p.yaml"
    for name in ["\u{fffe}", "\u{ffff}"] {
      let end = try Workspace.run(
        ["policy", "record", "--output", policy, "call", "libc.so.6", "open", "i32(cstring,i32)", "/nope/\(name)", "0"])
      let check = try Workspace.run(["policy", "check", policy])
      #expect(end.status == 0 && check.status == 0, "\(end) \(check)")
    }
  }

  @Test("who only looks up a name is granted the machine's own files of names") func lookups() throws {
    let end = try Workspace.run(
      [
        "policy", "record", "call", "libc.so.6", "getaddrinfo", "i32(cstring,pointer,pointer,out(8))", "localhost",
        "null", "null",
      ])
    #expect(end.output.contains("- /etc/hosts  # "), "\(end)")
    #expect(!end.output.contains("not granted: /etc/hosts"), "\(end)")
  }

  /// What a policy lets happen, what of it is reported, and what recording comes to.
  @Test(
    "links in a folder that is listed are reported as the kernel decides, and recorded until the result is the same")
  func links() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    for folder in ["names", "out/deep/v1", "out/k"] {
      try FileManager.default.createDirectory(atPath: "\(data)/\(folder)", withIntermediateDirectories: true)
    }
    for file in ["out/x", "names/file", "out/deep/v1/f"] { try Self.write("\(data)/\(file)") }
    for (link, target) in [
      ("names/link", "../out/x"), ("out/deep/cur", "\(data)/out/k/cur"), ("out/k/cur", "\(data)/out/deep/v1"),
    ] {
      try FileManager.default.createSymbolicLink(atPath: "\(data)/\(link)", withDestinationPath: target)
    }
    let source = """
      #include <dirent.h>
      #include <sys/stat.h>
      int sizes(const char *folder) {
        DIR *all = opendir(folder);
        int sum = 0;
        for (struct dirent *entry; all && (entry = readdir(all));) {
          char path[512];
          struct stat status;
          if (entry->d_name[0] == '.') continue;
          snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
          if (stat(path, &status)) sum += 1000; else sum += status.st_size;
        }
        return all ? sum : -1;
      }
      int opens(const char *folder, const char *name) { return has(folder, name); }
      int read_link(const char *path) { char target[512]; return readlink(path, target, sizeof target); }
      int enters(const char *path) { return chdir(path); }
      """
    try LibraryTests.compile("\(Self.has)\n\(source)", "-o l.so", in: data)
    let library = "\(data)/l.so"
    func seen(_ call: [String], _ files: String) throws -> Workspace.Finished {
      let policy = "\(data)/given.yaml"
      try "version: 2\nfiles: {\(files)}\n".write(toFile: policy, atomically: true, encoding: .utf8)
      return try Workspace.run(["call", library] + call + ["--observe", "--policy", policy])
    }
    // What gets through isn't reported as denied, and what doesn't is.
    let opened = try seen(
      ["opens", "i32(cstring,cstring)", "\(data)/names", "link"], "list: [\(data)/names], read: [\(data)/out/x]")
    #expect(opened.output == "1\n" && !opened.errors.contains("denied"), "\(opened)")
    let above = try seen(["enters", "i32(cstring)", data], "list: [\(data)/names]")
    #expect(above.output == "0\n" && !above.errors.contains("denied"), "\(above)")
    let missed = try seen(["sizes", "i32(cstring)", "\(data)/names"], "list: [\(data)/names]")
    #expect(missed.output == "1001\n" && missed.errors.contains("(\(data)/names/link)"), "\(missed)")
    // A folder in one that is read can't be listed only.
    let within = try seen(["enters", "i32(cstring)", data], "read: [\(data)/out], list: [\(data)/out/k]")
    #expect(within.status == 64 && within.errors.contains("\(data)/out/k, which the policy grants under 'list'"))
    // Recording grants what is behind the links, and nothing that every plugin has.
    for (call, value) in [
      (["sizes", "i32(cstring)", "\(data)/names"], "2\n"),
      (["opens", "i32(cstring,cstring)", "\(data)/out/deep/cur", "f"], "1\n"),
      (["read_link", "i32(cstring)", "/lib"], "7\n"),
    ] {
      let call = ["call", library] + call
      let end = try Workspace.run(["policy", "record", "--output", "\(data)/p.yaml"] + call)
      let again = try Workspace.run(call + ["--policy", "\(data)/p.yaml", "--observe"])
      #expect(end.status == 0 && again.output == value && !again.errors.contains("denied"), "\(end) \(again)")
    }
    // A link that leads through a place that isn't granted, out of a folder that is.
    let policy = "\(data)/given.yaml"
    try "version: 2\nfiles: {read: [\(data)/out/deep]}\n".write(toFile: policy, atomically: true, encoding: .utf8)
    let call = ["call", library, "opens", "i32(cstring,cstring)", "\(data)/out/deep/cur", "f", "--policy"]
    let end = try Workspace.run(["policy", "record", "--output", "\(data)/p.yaml"] + call + [policy])
    let again = try Workspace.run(call + ["\(data)/p.yaml", "--observe"])
    #expect(end.status == 0 && again.output == "1\n" && !again.errors.contains("denied"), "\(end) \(again)")
  }

  @Test("who opens more files than its limit is told so, and recording finds how many are enough") func openFiles()
    throws
  {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <unistd.h>
      int many(int count) {
        for (int i = 0; i < count; i++) if (open("/dev/null", O_RDONLY) < 0) return -i;
        return count;
      }
      int high(void) { return dup2(0, 255) + open("/dev/null", O_RDONLY); }
      """, "-o many.so", in: data)
    let call = ["call", "\(data)/many.so", "many", "i32(i32)"]
    let seen = try Workspace.run(call + ["600", "--observe"])
    #expect(seen.output.hasPrefix("-") && seen.errors.contains("denied by limits: open"), "\(seen)")
    #expect(seen.errors.contains("policy: limits: {openFiles: 512}"), "\(seen)")
    for (words, result) in [(call + ["200"], "200\n"), (["call", "\(data)/many.so", "high", "i32()"], nil)] {
      let few = try Workspace.run(words + ["--observe"])
      #expect((result == nil || few.output == result) && !few.errors.contains("denied"), "\(few)")
    }
    let end = try Workspace.run(["policy", "record", "--output", "\(data)/p.yaml"] + call + ["600"])
    #expect(end.status == 0, "\(end)")
    let again = try Workspace.run(call + ["600", "--policy", "\(data)/p.yaml"])
    let text = try String(contentsOfFile: "\(data)/p.yaml", encoding: .utf8)
    #expect(again.output == "600\n" && text.contains("openFiles: 1024"), "\(again) \(text)")
  }

  @Test("of a folder only the names are granted where it is only listed, and of two files the one that is used")
  func smallest() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    for name in ["first", "second"] { try Self.write("\(data)/\(name)") }
    try LibraryTests.compile(
      """
      #include <dirent.h>
      \(Self.has)
      int names(const char *folder) {
        DIR *list = opendir(folder);
        int count = 0;
        while (list && readdir(list)) count++;
        return count;
      }
      int either(const char *folder) { return has(folder, "first") ? 1 : has(folder, "second") ? 2 : 0; }
      """, "-o asks.so", in: data)
    let library = ["call", "\(data)/asks.so"]
    let names = try Workspace.run(
      ["policy", "record", "--output", "\(data)/p.yaml"] + library + ["names", "i32(cstring)", data])
    let list = try String(contentsOfFile: "\(data)/p.yaml", encoding: .utf8)
    #expect(
      names.status == 0 && list.contains("  list:\n    - \(data)  # openat") && !list.contains("read:"), "\(list)")
    let either = try Workspace.run(
      ["policy", "record", "--output", "\(data)/q.yaml"] + library + ["either", "i32(cstring)", data])
    let read = try String(contentsOfFile: "\(data)/q.yaml", encoding: .utf8)
    #expect(either.status == 0 && read.contains("- \(data)/first  # openat") && !read.contains("second"), "\(read)")
    let count = try FileManager.default.contentsOfDirectory(atPath: data).count + 2
    for (policy, call, output) in [("p", "names", "\(count)\n"), ("q", "either", "1\n")] {
      let again = try Workspace.run(
        library + [call, "i32(cstring)", data, "--policy", "\(data)/\(policy).yaml", "--observe"])
      #expect(again.output == output && !again.errors.contains("denied"), "\(again)")
    }
  }

  @Test("with --glob files whose names differ in a part have one pattern, and the run gets what it got without denials")
  func patterns() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    for number in 0..<6 { try Self.write("\(data)/page\(number).txt") }
    try Self.write("\(data)/index")
    try LibraryTests.compile(
      """
      \(Self.has)
      int pages(const char *folder) {
        int found = has(folder, "index");
        for (int i = 0; i < 4; i++) {
          char name[32];
          snprintf(name, sizeof name, "page%d.txt", i);
          found += has(folder, name);
        }
        return found;
      }
      """, "-o pages.so", in: data)
    let call = ["call", "\(data)/pages.so", "pages", "i32(cstring)", data]
    for (options, isGlob) in [([], false), (["--glob"], true)] as [([String], Bool)] {
      let end = try Workspace.run(["policy", "record", "--output", "\(data)/p.yaml"] + options + call)
      let text = try String(contentsOfFile: "\(data)/p.yaml", encoding: .utf8)
      let line =
        "- \"\(data)/page*.txt\"  # openat × 4; in the place of 4 paths, and wider than what was seen: others that match here: 2\n"
      #expect(end.status == 0 && text.contains(line) == isGlob, "\(end) \(text)")
      #expect(
        text.contains("- \(data)/page3.txt  # openat\n") != isGlob && text.contains("- \(data)/index  # openat"),
        "\(text)")
      #expect(text.contains("--glob call") == isGlob, "\(text)")
      let again = try Workspace.run(call + ["--policy", "\(data)/p.yaml", "--observe"])
      #expect(again.output == "5\n" && !again.errors.contains("denied"), "\(again)")
      let check = try Workspace.run(["policy", "check", "--strict", "\(data)/p.yaml"])
      #expect(check.status == 0, "\(check)")
    }
  }

  @Test("a recording that starts from a policy says what of that the run didn't use") func inherited() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    for name in ["used", "idle"] { try Self.write("\(data)/\(name)") }
    try "version: 1\nread: [\(data)/used, \(data)/idle]\n"
      .write(toFile: "\(data)/base.yaml", atomically: true, encoding: .utf8)
    let end = try Workspace.run([
      "policy", "record", "call", "libc.so.6", "open", "i32(cstring,i32)", "\(data)/used", "0", "--policy",
      "\(data)/base.yaml",
    ])
    #expect(end.status == 0, "\(end)")
    #expect(end.output.contains("- \(data)/used  # inherited, and used in the last round\n"), "\(end)")
    #expect(end.output.contains("- \(data)/idle  # inherited, and not used in the last round\n"), "\(end)")
    #expect(end.errors.contains("that recording started from that weren't used: 1;"), "\(end)")
  }

  @Test("more files than a request has room for name the option that grants their folder, and with that it ends")
  func manyFiles() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    for number in 0..<300 { try Self.write("\(data)/f\(number)") }
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <stdio.h>
      #include <unistd.h>
      int all(const char *folder) {
        int found = 0;
        for (int i = 0; i < 300; i++) {
          char path[512];
          snprintf(path, sizeof path, "%s/f%d", folder, i);
          int file = open(path, O_RDONLY);
          if (file >= 0) found++, close(file);
        }
        return found;
      }
      """, "-o all.so", in: data)
    let call = ["call", "\(data)/all.so", "all", "i32(cstring)", data]
    let end = try Workspace.run(["policy", "record"] + call)
    if end.status == 0 {
      #expect(end.output.contains("- \(data)/f299  # open"), "\(end)")
    } else {
      #expect(
        end.status == 1 && end.errors.contains("grant folders that hold them") && end.errors.contains("--folder-from"),
        "\(end)")
      let since = /the policy grants \d+ paths that the last round was denied, and no round has been run under it yet/
      #expect(end.errors.contains(since) && !end.errors.contains("still denied"), "\(end)")
    }
    let folded = try Workspace.run(["policy", "record", "--folder-from", "8"] + call)
    #expect(folded.status == 0 && folded.output.contains("- \(data)  # open"), "\(folded)")
    #expect(folded.output.contains("the last: returned 300\n"), "\(folded)")
  }

  @Test("what tests expected otherwise before they had what they need isn't said, and what still is otherwise, is")
  func mismatches() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    try Self.write("\(data)/file")
    let open = "{call: open, signature: 'i32(cstring,i32)', arguments: ['\(data)/file', 0], save: {f: result}}"
    for (length, isWrong) in [("1", false), ("7", true)] {
      try """
      plugin: libc.so.6
      tests: [{name: a, steps: [\(open), {call: read, signature: 'i64(i32,out(9),u64)', arguments: [$f, 9], returns: \(length)}]}]
      """.write(toFile: "\(data)/t.yaml", atomically: true, encoding: .utf8)
      let end = try Workspace.run(["policy", "record", "\(data)/t.yaml"])
      #expect(end.output.contains("- \(data)/file  # open"), "\(end)")
      #expect(end.errors.components(separatedBy: "expected step 2").count == (isWrong ? 2 : 1), "\(end)")
    }
  }

  @Test("a connection that failed is said, since what follows one wasn't seen")
  func failedConnections() throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    try LibraryTests.compile(
      """
      #include <arpa/inet.h>
      #include <sys/socket.h>
      int reach(void) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in a = {AF_INET, htons(9)};
        inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
        char byte;
        if (s < 0 || connect(s, (void *)&a, sizeof a) != 0) return -1;
        return recv(s, &byte, 1, 0);
      }
      """, "-o reach.so", in: data)
    let end = try Workspace.run(["policy", "record", "--network", "call", "\(data)/reach.so", "reach", "i32()"])
    #expect(end.output.contains("connections to 127.0.0.1:9 failed ("), "\(end)")
    #expect(end.errors.contains("connections to 127.0.0.1:9 failed ("), "\(end)")
  }

  @Test(
    "a user who stops a long command has what it found by then",
    arguments: [
      ("policy record --output D/p.yaml call D/slow.so slow 'i32()' --policy D/w.yaml", "- D/more  # open"),
      ("policy test D/t.yaml", "ok  first"), ("policy test D/t.yaml --format json", "\"passed\" : 2"),
      ("explore D/slow.so --function slow --signature 'i32()' --fuzz 9 --policy D/w.yaml", "2 calls of slow"),
    ])
  func stopped(command: String, words: String) throws {
    let data = try Self.data()
    defer { try? FileManager.default.removeItem(atPath: data) }
    for file in ["calls", "more"] { try Self.write("\(data)/\(file)") }
    // The third of its calls, whatever process it is in, takes too long.
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <unistd.h>
      int slow(void) {
        int file = open("\(data)/calls", O_RDWR | O_CREAT | O_APPEND, 0600);
        write(file, "x", 1);
        if (lseek(file, 0, SEEK_END) > 2) pause();
        return open("\(data)/more", O_RDONLY) < 0;
      }
      """, "-o slow.so", in: data)
    try "version: 1\nwrite: [\(data)/calls]\nlimits: {wall: 60s}\n"
      .write(toFile: "\(data)/w.yaml", atomically: true, encoding: .utf8)
    try "".write(toFile: "\(data)/calls", atomically: true, encoding: .utf8)
    let tests = ["first", "second", "third"].map { "  - {name: \($0), call: slow, signature: i32()}\n" }.joined()
    try "plugin: ./slow.so\npolicy: w.yaml\ntests:\n\(tests)"
      .write(toFile: "\(data)/t.yaml", atomically: true, encoding: .utf8)
    let script = """
      \(Workspace.outrider) \(command.replacing("D/", with: data + "/")) & p=$!
      until [ $(wc -c <\(data)/calls) -ge 3 ]; do kill -0 $p || exit 1; sleep 0.02; done
      kill -TERM $p; wait $p; echo "status $?"; cat \(data)/p.yaml 2>/dev/null
      """
    let end = try Workspace.run(["-c", script], program: "/bin/sh")
    #expect(end.output.contains("status 143\n"), "\(end)")
    #expect(end.output.contains(words.replacing("D/", with: data + "/")), "\(end)")
    #expect(end.output.contains("# stopped before") || end.errors.contains("interrupted after 2 of"), "\(end)")
  }
}
