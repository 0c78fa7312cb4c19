import Sandbox
import StrictYAML
import Testing

@Suite(.timeLimit(.minutes(1))) struct PolicyParsingTests {
  private func failure(_ text: String) -> YAMLFileError? {
    do throws(YAMLFileError) {
      _ = try Policy(parsing: text, file: "p.yaml")
      return nil
    } catch {
      return error
    }
  }

  @Test func readsEverything() throws {
    let policy = try Policy(
      parsing: """
        # *Everything* at once & with comments.
        version: 1
        read: [/usr/share/games, "/opt/a & b/*c"]
        write:
          - /srv/cache
        libraries: [/usr/lib/python3.11/lib-dynload]
        require: [landlock, seccomp]
        onDenied: {socket: kill, execve: deny}
        limits:
          wall: 300ms
          cpu: 1.5s
          memory: 8MiB
          openFiles: 32
          fileSize: 1048576
          threads: 0
          logBytes: 64k
        """, file: "p.yaml")
    #expect(policy.read == ["/usr/share/games", "/opt/a & b/*c"])
    #expect(policy.write == ["/srv/cache"])
    #expect(policy.libraries == ["/usr/lib/python3.11/lib-dynload"])
    #expect(policy.require == [.landlock, .seccomp])
    #expect(policy.systemCalls.onDenied == ["socket": .kill, "execve": .deny])
    var limits = Limits(wallTime: .milliseconds(300), cpu: .milliseconds(1500), memory: 8 << 20)
    limits.openFiles = 32
    limits.fileSize = 1 << 20
    limits.threads = 0
    limits.logBytes = 64 << 10
    #expect(policy.limits == limits)
  }

  @Test(arguments: [
    "version: 1", "version: 1\n", "---\nversion: 1\n...\n", "\u{feff}version: 1\r\nread: []\r\n", "{version: 1}",
    "version: '1'", "version: 1\rread: []\r", "# x\n\nversion: 1 # y\nlimits: {}\nonDenied: {}\n",
    "{\"version\": 1, read: []}",
  ])
  func readsTheLeast(_ text: String) throws { #expect(try Policy(parsing: text, file: "p.yaml") == Policy()) }

  @Test(
    arguments: [
      ("", 1, 1, "version: 1"), ("# nothing\n", 1, 1, "version: 1"), ("{}", 1, 1, "version"),
      ("read: []", 1, 1, "version"),
      ("version: 3", 1, 10, "\"3\""), ("version: 1.0", 1, 10, "version 1"), ("version: [1]", 1, 10, "single value"),
      ("version:", 1, 9, "version 1"), ("[version]", 1, 1, "known keys are version, read"),
      ("version", 1, 1, "is a map"),
      ("version: 1\nraed: []", 2, 1, "read, write, libraries, require, onDenied, limits"),
      ("version: 1\nread: []\nread: []", 2, 1, "twice"), ("version: 1\n? [a]\n: 1", 2, 3, "single value"),
      ("version: 1\nread: /x", 2, 7, "list"), ("version: 1\nread:\n", 2, 6, "list"),
      ("version: 1\nread: [x]", 2, 8, "'/'"),
      ("version: 1\nread:\n  - /a\n  - b", 4, 5, "absolute"), ("version: 1\nread: [[/a]]", 2, 8, "single value"),
      ("version: 1\nread: [/a/../b]", 2, 8, "'..'"), ("version: 1\nread: [/a, /a]", 2, 12, "twice"),
      ("version: 1\nread: [\"/a\\0b\"]", 2, 8, "NUL"), ("version: 1\nwrite: [~]", 2, 9, "'/'"),
      ("version: 1\nread: [\"\"]", 2, 8, "'/'"),
      ("version: 1\nrequire: [moat]", 2, 11, "userNamespace, mountNamespace"),
      ("version: 1\nrequire: [seccomp, seccomp]", 2, 20, "twice"),
      ("version: 1\nonDenied: {socket: allow}", 2, 20, "deny or kill"),
      ("version: 1\nonDenied: {frob: kill}", 2, 12, "system call"),
      ("version: 1\nonDenied: [socket]", 2, 11, "map"),
      ("version: 1\nonDenied: {socket: kill, socket: deny}", 2, 12, "twice"),
      ("version: 1\nlimits: {wal: 1s}", 2, 10, "wall, cpu, memory, openFiles, fileSize, threads, logBytes"),
      ("version: 1\nlimits: {wall: soon}", 2, 16, "300ms"), ("version: 1\nlimits: {wall: 0}", 2, 16, "300ms"),
      ("version: 1\nlimits: {memory: -1}", 2, 18, "8MiB"), ("version: 1\nlimits: {memory: .inf}", 2, 18, "8MiB"),
      ("version: 1\nlimits: {threads: 1k}", 2, 19, "whole number"),
      ("version: 1\nlimits: {threads: 010}", 2, 19, "whole"),
      ("version: 1\nlimits: {openFiles: 0}", 2, 21, "from 8"),
      ("version: 1\nlimits: {openFiles: 0x10}", 2, 21, "whole"),
      ("version: 1\nlimits: {openFiles: 99999999999999999999}", 2, 21, "whole"),
      ("version: 1\nlimits: {threads: ''}", 2, 19, "whole"),
      ("version: 1\nlimits: {threads: !!python/object x}", 2, 19, "single value"),
      ("version: 1\n---\nversion: 1", 2, 1, "document"), ("version: 1\n!x read: []\n", 2, 1, "single value"),
      ("version: &v 1", 1, 10, "anchors"), ("version: 1\nread: *r", 2, 7, "alias"),
      ("version: 1\nread: &r [/a]\nwrite: *r", 2, 7, "anchors"), ("version: 1\n<<: {read: [/a]}", 2, 1, "known keys"),
      ("version: 1\n\tread: []", 2, 1, "YAML"), ("version: 1\nread: [/a", 3, 1, "YAML"),
      ("version: 1\nread: \"/a", 2, 10, "YAML"),
      ("version: 1\n\u{0}", 2, 1, "U+0"), ("version: 1\r\nread: [/a\u{1b}]", 2, 10, "U+1B"),
      ("version: 1 \u{feff}", 1, 12, "U+FEFF"),
      ("version: 1\nread: 'a': b", 2, 10, "YAML"), ("%YAML 9.9\n---\nversion: 1", 1, 1, "YAML"),
    ] as [(String, Int, Int, String)])
  func refuses(_ text: String, _ line: Int, _ column: Int, _ sentence: String) throws {
    let error = try #require(failure(text))
    #expect(error.line == line && error.column == column, "\(error)")
    #expect(error.message.contains(sentence), "\(error)")
    #expect(error.description.hasPrefix("p.yaml:\(line):\(column): "))
  }

  @Test func refusesWhatIsTooLong() throws {
    let long = "version: 1\n#" + String(repeating: "x", count: 1 << 20)
    #expect(try #require(failure(long)).message.contains("1048576"))
    #expect(try Policy(parsing: String(long.prefix(1 << 20)), file: "p.yaml") == Policy())
  }

  @Test("an asterisk within a text is no alias, however many there are") func takesPatterns() throws {
    let rows = (0..<40).map { "    - {path: \"/etc/x*\($0)\", missing: skip}\n    - '/srv/ *a\($0)'\n" }.joined()
    let policy = try Policy(parsing: "version: 2\nfiles:\n  read:\n" + rows, file: "p.yaml")
    #expect(policy.patterns.count == 80)
  }

  @Test("no way to write an alias goes round the bound", arguments: [", ", ",", ",\t", ",\r\n", ",\u{2028} "])
  func refusesBombs(_ separator: String) throws {
    var bomb = "version: 1\na0: &a0 [x, x]\n"
    for level in 1..<30 {
      let keys = Array(repeating: "*a\(level - 1)", count: 3).joined(separator: separator)
      bomb += "a\(level): &a\(level) {[\(keys)]: 1}\n"
    }
    #expect(try #require(failure(bomb)).message.contains("aliases"))
  }

  @Test(.timeLimit(.minutes(1))) func refusesBombs() throws {
    // Each level's key stands for three of the one before: 3^30 nodes to hash.
    var bomb = "version: 1\na0: &a0 [x, x]\n"
    for level in 1..<30 {
      bomb += "a\(level): &a\(level)\n  ? [*a\(level - 1), *a\(level - 1), *a\(level - 1)]\n  : 1\n"
    }
    #expect(try #require(failure(bomb)).message.contains("aliases"))
    #expect(failure("version: 1\nread: " + String(repeating: "[", count: 200_000)) != nil)
    #expect(failure("version: 1\nread: " + String(repeating: "{a: ", count: 100_000)) != nil)
    #expect(failure("version: 1\nread:\n  " + String(repeating: "- ", count: 100_000)) != nil)
    #expect(failure("version: 1\n" + String(repeating: "? ", count: 100_000)) != nil)
  }

  @Test func controlCharactersInNamesDontReachTheTerminal() throws {
    let error = try #require(failure("version: 1\n\"\\e[2J\": 1"))
    #expect(error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 })
  }
}
