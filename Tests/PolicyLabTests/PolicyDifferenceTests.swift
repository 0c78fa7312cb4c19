import Basics
import Foundation
import Sandbox
import TestSupport
import Testing

@testable import PolicyLab

/// OUTRIDER_SEED repeats one.
enum PolicySeed {
  static let current =
    ProcessInfo.processInfo.environment["OUTRIDER_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
}

@Suite(.timeLimit(.minutes(1))) struct PolicyDifferenceTests {
  private static func random(_ random: inout SeededGenerator) -> Policy {
    var policy = Policy()
    let paths = ["/a", "/a/b", "/a/b/c", "/ab", "/d", "/d/e"]
    policy.read = paths.filter { _ in random.chance(3) }
    policy.write = paths.filter { _ in random.chance(4) }
    policy.libraries = paths.filter { _ in random.chance(6) }
    for wall in Wall.allCases where random.chance(4) { policy.require.insert(wall) }
    for name in ["socket", "ptrace"] where random.chance(2) {
      policy.systemCalls.onDenied[name] = random.chance(2) ? .kill : .deny
    }
    policy.socketPairs = random.chance(3)
    policy.limits.memory = (1 + random.below(3)) << 20
    policy.limits.threads = random.below(3)
    for rule in rules(&random) { policy.systemCalls.rules.insert(rule) }
    for name in ["mkdir"] where random.chance(3) { policy.systemCalls.refused.insert(name) }
    return policy
  }

  @Test(
    "a policy is no wider than itself, and what is wider one way is narrower the other", arguments: [PolicySeed.current]
  )
  func mirrored(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      let (a, b) = (Self.random(&random), Self.random(&random))
      #expect(PolicyDifference(from: a, to: a).changes.isEmpty)
      let (there, back) = (PolicyDifference(from: a, to: b), PolicyDifference(from: b, to: a))
      #expect(there.changes.count == back.changes.count)
      #expect(there.changes.count(where: \.isWider) == back.changes.count(where: { !$0.isWider }))
    }
  }

  @Test(
    "another spelling of a granted name or a value is another one",
    arguments: [
      ("files: {read: [/d/A]}", "files: {read: [/d/A], write: [/d/B]}"),
      ("files: {read: [/d/A]}", "files: {read: [/d/B]}"),
      ("files: {read: ['/d/A*']}", "files: {read: ['/d/B*']}"), ("environment: ['X=A']", "environment: ['X=B']"),
      ("files: {execute: [/d/A]}", "files: {execute: [/d/A, /d/B]}"),
      ("files: {list: [/d/A]}", "files: {list: [/d/B]}"),
    ])
  func spellings(old: String, new: String) throws {
    func policy(_ text: String) throws -> Policy {
      let text = text.replacing("A", with: "\u{e9}").replacing("B", with: "e\u{301}")
      return try Policy(parsing: "version: 2\nexecutableMemory: later\n\(text)\n", file: "policy")
    }
    #expect(PolicyDifference(from: try policy(old), to: try policy(new)).isWider)
    #expect(PolicyDifference(from: try policy(new), to: try policy(new)).changes.isEmpty)
  }

  @Test("no path that becomes accessible goes unsaid", arguments: [PolicySeed.current]) func complete(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    /// What holds the most of the path decides.
    func isCode(_ path: String, _ policy: Policy) -> Bool {
      let holders = (policy.read + policy.write + policy.libraries).filter { path == $0 || path.hasPrefix($0 + "/") }
      return holders.max { $0.count < $1.count }.map(policy.libraries.contains) ?? false
    }
    /// A mount of its own in a folder that may be written can't be replaced.
    func isHeld(_ path: String, _ policy: Policy) -> Bool {
      (policy.read + policy.write + policy.libraries).contains(path)
    }
    func mayReplace(_ path: String, _ was: Policy, _ now: Policy) -> Bool {
      let parent = String(path.prefix(upTo: path.lastIndex(of: "/")!))
      return [was, now].allSatisfy { $0.access(to: parent) == .write } && was.access(to: path) == now.access(to: path)
        && isHeld(path, was) && !isHeld(path, now)
    }
    let probes = ["/a", "/a/x", "/a/b", "/a/b/c", "/a/b/c/d", "/ab", "/abc", "/d", "/d/e", "/d/e/f", "/z"]
    for _ in 0..<2000 {
      let (a, b) = (Self.random(&random), Self.random(&random))
      let grows = probes.contains {
        b.access(to: $0) > a.access(to: $0) || isCode($0, b) && !isCode($0, a) || mayReplace($0, a, b)
      }
      var (bare, wide) = (Policy(), Policy())
      (bare.read, bare.write, bare.libraries) = (a.read, a.write, a.libraries)
      (wide.read, wide.write, wide.libraries) = (b.read, b.write, b.libraries)
      #expect(PolicyDifference(from: bare, to: wide).isWider == grows, "\(a) \(b)")
    }
  }

  /// About four bits of two calls, so that they often meet.
  private static func rules(_ random: inout SeededGenerator) -> [CallRule] {
    (0..<random.below(4)).compactMap { _ in
      let mask = UInt64(random.below(15) + 1)
      let values = Set((0..<2).map { _ in UInt64(random.below(16)) & mask })
      return try? CallRule(
        random.chance(2) ? .kill : .deny, random.chance(2) ? "prctl" : "mkdir", argument: 0, mask: mask,
        equals: Array(values))
    }
  }

  @Test(
    "no call that a rule denied or ended a run for becomes possible without a word", arguments: [PolicySeed.current])
  func rules(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    /// 0: passes, 1: denied, 2: ends the run.
    func level(_ policy: Policy, _ value: UInt64) -> Int {
      let isClosed = policy.systemCalls.refused.contains("umask")
      let rule = policy.rule(for: "umask", [value])
      let isKilling =
        rule?.action == .kill || (rule != nil || isClosed) && policy.systemCalls.onDenied["umask"] == .kill
      return isKilling ? 2 : rule != nil || isClosed ? 1 : 0
    }
    for _ in 0..<3000 {
      func policy() throws -> Policy {
        var policy = Policy()
        for _ in 0..<random.below(3) {
          let mask = UInt64(random.below(15) + 1)
          let values = Set((0..<2).map { _ in UInt64(random.below(16)) & mask })
          policy.systemCalls.rules.insert(
            try CallRule(random.chance(2) ? .kill : .deny, "umask", argument: 0, mask: mask, equals: Array(values)))
        }
        if random.chance(4) { policy.systemCalls.refused = ["umask"] }
        if random.chance(4) { policy.systemCalls.onDenied = ["umask": .kill] }
        return policy
      }
      let (old, new) = (try policy(), try policy())
      let grows = (0..<16 as Range<UInt64>).contains { level(new, $0) < level(old, $0) }
      let difference = PolicyDifference(from: old, to: new)
      if grows { #expect(difference.isWider, "\(old.systemCalls.rules) \(new.systemCalls.rules)") }
      // More rules with the same names are never wider.
      var more = old
      more.systemCalls.rules.formUnion(new.systemCalls.rules)
      #expect(!PolicyDifference(from: old, to: more).isWider)
    }
  }

  @Test("rules that are gone, changed and new are said as a policy has them") func ruleWords() throws {
    func policy(_ text: String) throws -> Policy {
      try Policy(parsing: "version: 2\nsystemCalls: {\(text)}", file: "p")
    }
    let old = try policy(
      "deny: [{call: prctl, argument: 0, equals: [15, 16]}], kill: [{call: kill, argument: 1, equals: [9, 15]}]")
    let new = try policy(
      "deny: [{call: prctl, argument: 0, equals: 15}, {call: kill, argument: 1, equals: 9}, {call: mmap, argument: 2, mask: 4, equals: 4}]"
    )
    #expect(
      PolicyDifference(from: old, to: new).changes.map { ($0.isWider ? "+ " : "- ") + $0.text } == [
        "+ kill where signal = 15 isn't denied any more", "+ kill where signal = 9 fails and no longer ends the run",
        "+ prctl where option = 16 isn't denied any more", "- mmap where prot & 0x4 = 0x4 is denied",
      ])
    // A policy that denies the call, or looks at fewer bits, denies it, too.
    let whole = try policy("deny: [signalling, {call: prctl, argument: 0, mask: 0x10, equals: 0x10}]")
    let parts = try policy("deny: [{call: kill, argument: 1, equals: 9}, {call: prctl, argument: 0, equals: 21}]")
    #expect(!PolicyDifference(from: parts, to: whole).isWider && PolicyDifference(from: whole, to: parts).isWider)
    let words = PolicyDescription(old).lines.joined(separator: "\n")
    #expect(words.contains("Of other calls these are denied:\n  {call: prctl, argument: 0, equals: [15, 16]}"))
    #expect(words.contains("Of other calls these end the run:\n  {call: kill, argument: 1, equals: [9, 15]}"))
  }

  @Test("each change is said in its own words") func words() throws {
    let old = try Policy(
      parsing: "version: 1\nread: [/srv]\nwrite: [/srv/cache]\nrequire: [seccomp]\nonDenied: {socket: kill}\n",
      file: "old")
    let new = try Policy(
      parsing:
        "version: 1\nread: [/srv, /usr/share]\nrequire: [landlock]\nlibraries: [/usr/share/x]\nlimits: {memory: 16MiB, wall: 10s}\n",
      file: "new")
    #expect(
      PolicyDifference(from: old, to: new).changes.map { ($0.isWider ? "+ " : "- ") + $0.text } == [
        "- /srv/cache: read, was read and write", "+ /usr/share: read, was nothing",
        "+ /usr/share/x: read, and code that may be mapped while it runs", "+ executable memory: later, was loading",
        "- doesn't run without landlock",
        "+ runs also where seccomp isn't in force", "+ socket fails and no longer ends the run",
        "- wall 10 s, was 30 s", "+ memory 16 MiB, was 8 MiB",
      ])
  }

  @Test("what a granted link leads to is compared, and code where another grant takes it away") func places() throws {
    func policy(_ files: String) throws -> Policy {
      try Policy(parsing: "version: 2\nfiles: {\(files)}\nexecutableMemory: later\n", file: "p")
    }
    func changes(_ old: String, _ new: String) throws -> [String] {
      PolicyDifference(from: try policy(old), to: try policy(new)) { $0 == "/srv/a/ssl" ? "/etc/ssl" : $0 }
        .changes.map { ($0.isWider ? "+ " : "- ") + $0.text }
    }
    let (folder, link) = ("read: [/srv/a]", "read: [/srv/a, /srv/a/ssl]")
    #expect(try changes(folder, link) == ["+ /etc/ssl, which /srv/a/ssl leads to: read, was nothing"])
    #expect(try changes(link, folder) == ["- /etc/ssl, which /srv/a/ssl leads to: nothing, was read"])
    #expect(try changes(link, link).isEmpty && changes(folder, "read: [/srv/a, /srv/a/b]").isEmpty)
    #expect(try changes("read: [/etc/ssl, /srv/a]", "read: [/etc/ssl, /srv/a, /srv/a/ssl]").isEmpty)
    #expect(try changes("read: [/srv/b]", "read: [/srv/a/ssl, /srv/b]") == ["+ /srv/a/ssl: read, was nothing"])
    let (code, read) = ("execute: [/srv/x]", "execute: [/srv/x], read: [/srv/x/y]")
    #expect(try changes(code, read) == ["- /srv/x/y: read, and no longer code that may be mapped"])
    #expect(try changes(read, code) == ["+ /srv/x/y: read, and code that may be mapped while it runs"])
  }

  @Test("what a pattern stands for may be a link, and counts by what it leads to") func patterns() throws {
    func policy(_ files: String) throws -> Policy { try Policy(parsing: "version: 2\nfiles: {\(files)}\n", file: "p") }
    func resolve(_ policy: Policy) -> Policy {
      var policy = policy
      if !policy.patterns.isEmpty { policy.read += ["/srv/a/file", "/srv/a/link"] }
      policy.patterns = []
      return policy
    }
    let pairs = [("read: [/srv/a]", "read: [/srv/a, '/srv/a/*']"), ("read: ['/srv/a/*']", "read: ['/srv/a/*']")]
    let changes = try pairs.map { (old, new) in
      PolicyDifference(
        from: try policy(old), to: try policy(new), real: { $0 == "/srv/a/link" ? "/etc/shadow" : $0 },
        resolve: resolve
      ).changes
    }
    #expect(
      changes == [[.init(isWider: true, text: "/etc/shadow, which /srv/a/link leads to: read, was nothing")], []])
  }

  @Test("a narrower grant within a wider one counts") func nested() throws {
    let old = try Policy(parsing: "version: 1\nread: [/srv/keys]\nwrite: [/srv]\n", file: "old")
    var new = old
    new.read = []
    #expect(
      PolicyDifference(from: old, to: new).changes
        == [.init(isWider: true, text: "/srv/keys: read and write, was read")])
    #expect(old.access(to: "/srv/keys/a") == .read && old.access(to: "/srv/x") == .write)
    #expect(old.access(to: "/srvx") == .none)
  }

  @Test(
    "what every plugin has is no difference, and a line of its own in a folder that is written is one",
    arguments: [
      ("files: {read: [/usr/lib/os-release, /usr/share/zoneinfo/UTC]}", "", []),
      ("files: {read: [/lib]}", "", []), ("files: {read: [/usr/library]}", "", ["- /usr/library: nothing, was read"]),
      ("files: {execute: [/usr/lib/a.so]}\nexecutableMemory: later", "executableMemory: later", []),
      (
        "files: {execute: [/opt/a.so]}\nexecutableMemory: later", "executableMemory: later",
        ["- /opt/a.so: no longer read, nor code that may be mapped"]
      ),
      (
        "files: {write: [/srv/a, /srv/a/b]}", "files: {write: [/srv/a]}",
        ["+ /srv/a/b can be moved, replaced or removed: it has no line of its own"]
      ),
      (
        "files: {write: [/srv/a]}", "files: {write: [/srv/a, /srv/a/b]}",
        ["- /srv/a/b can't be moved, replaced or removed: it has a line of its own"]
      ),
      ("files: {read: [/srv/a]}", "files: {read: [/srv/a, /srv/a/b]}", []),
      // What is denied without a line of its own as well.
      ("systemCalls: {deny: [fork, execve]}", "", []), ("", "systemCalls: {deny: [fork, execve, socket]}", []),
      ("systemCalls: {deny: [socket]}", "", []),
      ("systemCalls: {kill: [fork]}", "", ["+ fork fails and no longer ends the run"]),
      ("", "systemCalls: {kill: [fork]}", ["- fork ends the run"]),
      ("systemCalls: {kill: [umask]}", "", ["+ umask isn't denied any more"]),
      ("", "systemCalls: {kill: [umask]}", ["- umask ends the run"]),
      ("systemCalls: {kill: [umask]}", "systemCalls: {deny: [umask]}", ["+ umask fails and no longer ends the run"]),
      (
        "systemCalls: {deny: [fork, execve]}", "processes: 2",
        ["+ processes beside its own: 2, was 0", "+ fork isn't denied any more"]
      ),
    ] as [(String, String, [String])])
  func ofEveryPlugin(old: String, new: String, changes: [String]) throws {
    func policy(_ text: String) throws -> Policy {
      // So that both write the same of their own.
      let text = text.replacing("write: [", with: "write: [$CONTAINER, $TMP, ")
      return try Policy(parsing: "version: 2\n\(text)\n", file: "p")
    }
    let found = PolicyDifference(from: try policy(old), to: try policy(new)).changes
    #expect(found.map { "\($0.isWider ? "+" : "-") \($0.text)" } == changes)
  }
}
