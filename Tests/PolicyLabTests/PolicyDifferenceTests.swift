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
    for name in ["socket", "ptrace"] where random.chance(2) { policy.onDenied[name] = random.chance(2) ? .kill : .deny }
    policy.limits.memory = (1 + random.below(3)) << 20
    policy.limits.threads = random.below(3)
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

  @Test("no path that becomes accessible goes unsaid", arguments: [PolicySeed.current]) func complete(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let probes = ["/a", "/a/x", "/a/b", "/a/b/c", "/a/b/c/d", "/ab", "/abc", "/d", "/d/e", "/d/e/f", "/z"]
    for _ in 0..<2000 {
      let (a, b) = (Self.random(&random), Self.random(&random))
      let grows = probes.contains { b.access(to: $0) > a.access(to: $0) } || !Set(b.libraries).isSubset(of: a.libraries)
      var (bare, wide) = (Policy(), Policy())
      (bare.read, bare.write, bare.libraries) = (a.read, a.write, a.libraries)
      (wide.read, wide.write, wide.libraries) = (b.read, b.write, b.libraries)
      #expect(PolicyDifference(from: bare, to: wide).isWider == grows, "\(a) \(b)")
    }
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
        "+ /usr/share/x: read, and code that may be mapped while it runs", "- doesn't run without landlock",
        "+ runs without seccomp", "+ socket fails and no longer ends the run",
        "- wall 10 s, was 30 s", "+ memory 16 MiB, was 8 MiB",
      ])
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
}
