import Sandbox
import StrictYAML
import Testing

@Suite(.timeLimit(.minutes(1))) struct SecondPolicyFileTests {
  /// Reads `main.yaml` among these files.
  private func read(_ files: [String: String]) throws(YAMLFileError) -> PolicyFile {
    try PolicyFile(parsing: files["main.yaml"] ?? "", file: "main.yaml") { (name) throws(PolicyFile.Unreadable) in
      guard let text = files[name] else { throw PolicyFile.Unreadable(reason: "no such file") }
      return text
    }
  }

  private func read(_ text: String) throws(YAMLFileError) -> PolicyFile {
    try read(["main.yaml": "version: 2\n" + text])
  }

  private func failure(_ files: [String: String]) -> YAMLFileError? {
    do throws(YAMLFileError) {
      _ = try read(files)
      return nil
    } catch {
      return error
    }
  }

  @Test func readsEverything() throws {
    let policy = try read(
      """
      files:
        missing: skip
        read: [$BUNDLE, /usr/share/games, {path: /etc/x, missing: error}, "/srv/*.db"]
        write: [$TMP, /srv/cache]
        execute: [$RUNTIME, /opt/lib]
        list: [/srv]
      devices: [null, urandom]
      environment: [LANG, "A=b=c", "EMPTY="]
      network: none
      processes: none
      systemCalls: {deny: [fileChanges, sleeping], kill: [socket, getpgid, mmap]}
      executableMemory: later
      limits: {memory: 1MiB}
      require: [seccomp]
      observe: true
      """
    ).policy
    #expect(policy.read == ["/usr/share/games", "/etc/x"] && policy.write == ["/srv/cache"])
    #expect(policy.libraries == ["/opt/lib"] && policy.list == ["/srv"])
    #expect(policy.optional == ["/usr/share/games", "/srv/cache", "/opt/lib", "/srv"])
    #expect(try policy.patterns == [PatternGrant(.read, PathPattern("/srv/*.db"), isOptional: true)])
    #expect(!policy.writesContainer && policy.writesTemporary && policy.devices == [.null, .urandom])
    #expect(policy.environment.map(\.text) == ["LANG", "A=b=c", "EMPTY="])
    #expect(policy.systemCalls.refused.isSuperset(of: ["mkdir", "rename", "nanosleep", "getpgid"]))
    #expect(policy.systemCalls.onDenied == ["socket": .kill, "getpgid": .kill, "mmap": .kill])
    #expect(!policy.systemCalls.refused.contains("mmap") && !policy.systemCalls.refused.contains("socket"))
    #expect(policy.executableMemory == .later && policy.observesFiles && policy.require == [.seccomp])
    #expect(policy.limits.memory == 1 << 20)
  }

  @Test(arguments: [
    "", "files: {}", "systemCalls: {}", "files: {write: [$CONTAINER, $TMP]}", "devices: [null, full, random, urandom]",
    "extends: downloader", "executableMemory: loading", "observe: false", "network: none\nprocesses: none",
  ])
  func saysWhatHoldsAnyway(_ text: String) throws { #expect(try read(text).policy == Policy()) }

  @Test(
    arguments: [
      ("read: [/a]", 2, 1, "files: {read"), ("onDenied: {socket: kill}", 2, 1, "systemCalls: {kill"),
      ("libraries: []", 2, 1, "executableMemory: later"), ("frob: 1", 2, 1, "known keys are version, extends"),
      ("files: []", 2, 8, "map"), ("files: {raed: [/a]}", 2, 9, "read, write, execute, list, missing"),
      ("files: {read: [a]}", 2, 16, "'/'"), ("files: {read: [/a/../b]}", 2, 16, "'..'"),
      ("files: {read: [/a, /a]}", 2, 20, "twice"), ("files: {read: [/a], write: [/a]}", 2, 29, "under read and under"),
      ("files: {list: [/a], read: [/a]}", 2, 28, "one of them"),
      ("files: {read: [$HOME]}", 2, 16, "$BUNDLE, $CONTAINER, $MANIFEST, $RUNTIME, $TMP"),
      ("files: {read: [$BUNDLE/x]}", 2, 16, "stands alone"),
      ("files: {write: [$BUNDLE]}", 2, 17, "$CONTAINER and $TMP"),
      ("files: {list: [$TMP]}", 2, 16, "anyway"), ("files: {execute: [$CONTAINER]}", 2, 19, "can't be granted"),
      ("files: {execute: [/opt/lib]}", 2, 8, "executableMemory: later"),
      ("files: {read: [\"/srv/**/x\"]}", 2, 16, "'**'"), ("files: {read: [\"/*\"]}", 2, 16, "folder's name"),
      ("files: {read: [\"/a/[x\"]}", 2, 16, "']'"), ("files: {read: [\"/a/*/*/*/*/*\"]}", 2, 16, "at most 4"),
      ("files: {read: [{path: /a, missing: maybe}]}", 2, 36, "skip or error"),
      ("files: {read: [{missing: skip}]}", 2, 16, "needs 'path'"), ("files: {missing: 1}", 2, 18, "skip or error"),
      ("files: {read: [{path: /a, mode: 1}]}", 2, 27, "path, missing"),
      ("devices: [zero]", 2, 11, "null, full, random, urandom"), ("devices: [null, null]", 2, 17, "twice"),
      ("devices: all", 2, 10, "list"), ("environment: [1X=2]", 2, 15, "letters"),
      ("environment: [HOME=/]", 2, 15, "host"),
      ("environment: [LD_PRELOAD=x]", 2, 15, "host alone"), ("environment: [A, A=1]", 2, 18, "twice"),
      ("environment: {A: b}", 2, 14, "list"), ("network: all", 2, 10, "none"),
      ("processes: 65", 2, 12, "up to 64"), ("processes: -1", 2, 12, "up to 64"), ("processes: 1.5", 2, 12, "up to 64"),
      ("processes: many", 2, 12, "up to 64"), ("processes: 0x4", 2, 12, "up to 64"),
      ("processes: 00004", 2, 12, "up to 64"), ("processes: 010", 2, 12, "up to 64"),
      ("processes: [1]", 2, 12, "single value"), ("processes: ''", 2, 12, "up to 64"),
      ("processes: 2\nsystemCalls: {deny: [newThreads]}", 2, 12, "denies clone"),
      ("processes: 2\nsystemCalls: {deny: [programs]}", 2, 12, "denies fork"),
      ("systemCalls: {kill: [programs]}\nprocesses: 2", 2, 14, "denies fork"),
      ("processes: 2\nsystemCalls: {kill: [vfork]}", 2, 12, "denies vfork"),
      ("processes: 2\nsystemCalls: {deny: [execve]}", 2, 12, "denies execve"),
      ("systemCalls: [socket]", 2, 14, "map"), ("systemCalls: {allow: [socket]}", 2, 15, "deny, kill"),
      ("systemCalls: {deny: [frob]}", 2, 22, "groups are programs"),
      ("systemCalls: {deny: [read]}", 2, 22, "without read"),
      ("systemCalls: {kill: [openat]}", 2, 22, "without openat"),
      ("systemCalls: {deny: [mmap]}", 2, 22, "without mmap"),
      ("systemCalls: {deny: [mkdir], kill: [mkdir]}", 2, 37, "deny and under kill"),
      ("systemCalls: {deny: [sockets, sockets]}", 2, 31, "twice"),
      ("executableMemory: always", 2, 19, "loading, later, jit"), ("observe: yes", 2, 10, "true or false"),
      ("extends: gardener", 2, 10, "downloader, computation, codec, interpreter, developer"),
      ("extends: ./no.yaml", 2, 10, "no such file"), ("extends: [a, b]", 2, 10, "single value"),
      ("extends: ./main.yaml", 2, 10, "by itself"), ("extends: main.yaml", 2, 10, "by itself"),
      ("files: {write: [/opt/lib], execute: [/opt/lib]}\nexecutableMemory: later", 2, 38, "one of them"),
    ] as [(String, Int, Int, String)])
  func refuses(_ text: String, _ line: Int, _ column: Int, _ sentence: String) throws {
    let error = try #require(failure(["main.yaml": "version: 2\n" + text]))
    #expect(error.line == line && error.column == column, "\(error)")
    #expect(error.message.contains(sentence), "\(error)")
  }

  @Test("a number of processes replaces the parent's, and more than that widens it") func processes() throws {
    for (text, count) in [("none", 0), ("0", 0), ("1", 1), ("64", 64), ("'7'", 7)] {
      #expect(try read(["main.yaml": "version: 2\nprocesses: \(text)\n"]).policy.processes == count, "\(text)")
    }
    for (parent, child, warnings) in [(2, 4, 1), (4, 2, 0), (4, 4, 0)] {
      let file = try read([
        "main.yaml": "version: 2\nextends: ./a.yaml\nprocesses: \(child)\n",
        "a.yaml": "version: 2\nprocesses: \(parent)\n",
      ])
      #expect(file.policy.processes == child && file.warnings.count == warnings, "\(file.warnings)")
    }
    #expect(
      try read(["main.yaml": "version: 2\nextends: ./a.yaml\n", "a.yaml": "version: 2\nprocesses: 3\n"]).policy
        .processes == 3)
    // Programs are what may be mapped as code later.
    var policy = try read(["main.yaml": "version: 2\nprocesses: 3\n"]).policy
    #expect(!policy.startsPrograms)
    policy.libraries = ["/bin/sh"]
    #expect(policy.startsPrograms)
    policy.processes = 0
    #expect(!policy.startsPrograms)
  }

  @Test func listsAddUpAndValuesReplace() throws {
    let file = try read([
      "main.yaml": """
      version: 2
      extends: ./base/b.yaml
      files: {read: [/c], write: [$TMP]}
      systemCalls: {deny: [mkdir]}
      limits: {wall: 1s}
      """,
      "base/b.yaml": "version: 2\nextends: ../a.yaml\nfiles: {read: [/b]}\nlimits: {wall: 2s, cpu: 1s}\n",
      "base/../a.yaml":
        "version: 2\nfiles: {read: [/a], write: []}\nsystemCalls: {kill: [rmdir]}\nrequire: [landlock]\n",
    ])
    let policy = file.policy
    #expect(policy.read == ["/a", "/b", "/c"] && !policy.writesContainer && policy.writesTemporary)
    #expect(policy.systemCalls.refused == ["mkdir", "rmdir"] && policy.require == [.landlock])
    #expect(policy.limits.wallTime == .seconds(1) && policy.limits.cpu == .seconds(1))
    #expect(file.parents == ["base/b.yaml", "base/../a.yaml"])
    // Each with its place, in the file that allows more.
    #expect(
      file.warnings.map { "\($0.file):\($0.line):\($0.column)" }
        == ["base/b.yaml:3:16", "main.yaml:3:16", "main.yaml:3:29"])
  }

  @Test(
    arguments: [
      ("files: {read: [/srv/x]}", 16), ("files: {write: [/srv/pub]}", 17), ("devices: [full]", 11),
      ("environment: [A=1]", 15), ("executableMemory: jit", 19), ("limits: {memory: 9MiB}", 18),
      ("files: {write: [$CONTAINER]}", 17), ("files: {list: [/opt]}", 16), ("files: {read: [\"/opt/*\"]}", 16),
    ])
  func warnsOfMoreThanTheParent(_ text: String, _ column: Int) throws {
    let parent = "version: 2\nfiles: {read: [/srv/pub], write: []}\ndevices: []\n"
    let file = try read(["main.yaml": "version: 2\nextends: ./p.yaml\n" + text, "p.yaml": parent])
    let warning = try #require(file.warnings.first)
    #expect(file.warnings.count == 1 && warning.line == 3 && warning.column == column, "\(file.warnings)")
    #expect(warning.message.contains("\"p.yaml\" allows"))
  }

  @Test(
    arguments: [
      "files: {read: [/srv/pub/x]}", "limits: {memory: 1MiB}", "systemCalls: {deny: [sockets]}", "require: [seccomp]",
      "executableMemory: loading", "observe: true", "files: {list: [/srv/pub]}",
    ])
  func narrowingIsNoWarning(_ text: String) throws {
    let parent = "version: 2\nfiles: {read: [/srv/pub], write: []}\n"
    let file = try read(["main.yaml": "version: 2\nextends: ./p.yaml\n" + text, "p.yaml": parent])
    #expect(file.warnings.isEmpty)
  }

  @Test func errorsOfParentsHaveTheirPlace() throws {
    let error = try #require(failure(["main.yaml": "version: 2\nextends: ./p.yaml", "p.yaml": "version: 2\nfrob: 1"]))
    #expect(error.file == "p.yaml" && error.line == 2)
    #expect(
      try read(["main.yaml": "version: 2\nextends: ./p.yaml", "p.yaml": "version: 1\nread: [/a]"]).policy.read == ["/a"]
    )
  }

  @Test func endsWhereFilesExtendEachOther() throws {
    let ring = failure(["main.yaml": "version: 2\nextends: ./a.yaml", "a.yaml": "version: 2\nextends: ./main.yaml"])
    #expect(try #require(ring).message.contains("by itself"))
    // Names that never repeat, as through a link to the same folder.
    let error = #expect(throws: YAMLFileError.self) {
      try PolicyFile(parsing: "version: 2\nextends: ./x/a.yaml", file: "a.yaml") { (_) throws(PolicyFile.Unreadable) in
        "version: 2\nextends: ./x/a.yaml"
      }
    }
    #expect(error?.message.contains("more than 8 files") == true)
  }

  @Test(arguments: ShippedPolicy.allCases) func shippedPoliciesArePolicies(_ shipped: ShippedPolicy) throws {
    let file = try PolicyFile(parsing: shipped.text, file: shipped.rawValue) { (_) throws(PolicyFile.Unreadable) in
      throw PolicyFile.Unreadable(reason: "")
    }
    #expect(try Policy(parsing: "version: 2\nextends: \(shipped.rawValue)", file: "p") == file.policy)
    #expect((file.policy == Policy()) == (shipped == .downloader), "what holds by default is downloader, and only that")
    #expect(shipped.text.split(separator: "\n").contains { $0.hasPrefix("# ") })
    #expect(shipped.text.split(separator: "\n").allSatisfy { $0.count <= 120 })
  }

  @Test func hostileFilesEndSoon() throws {
    let nested = "files: {read: " + String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000) + "}"
    #expect(failure(["main.yaml": "version: 2\n" + nested]) != nil)
    let deep = "systemCalls: " + String(repeating: "{deny: ", count: 10_000)
    #expect(failure(["main.yaml": "version: 2\n" + deep]) != nil)
    var bomb = "version: 2\na0: &a0 [x, x]\n"
    for level in 1..<30 { bomb += "a\(level): &a\(level)\n  ? [*a\(level - 1), *a\(level - 1)]\n  : 1\n" }
    #expect(try #require(failure(["main.yaml": bomb])).message.contains("aliases"))
    // As many as fit into a file.
    let paths = (0..<100_000).map { "/\($0)" }.joined(separator: ",")
    #expect(try #require(failure(["main.yaml": "version: 2\nfiles: {read: [\(paths)]}"])).message.contains("1024"))
    let variables = (0..<50_000).map { "V\($0)" }.joined(separator: ",")
    #expect(failure(["main.yaml": "version: 2\nenvironment: [\(variables)]"]) != nil)
    let calls = Array(repeating: "mkdir", count: 100_000).joined(separator: ",")
    #expect(failure(["main.yaml": "version: 2\nsystemCalls: {deny: [\(calls)]}"]) != nil)
  }
}
