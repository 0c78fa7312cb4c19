import Foundation
import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct LibraryComparisonTests: RecorderScene {
  @Test(
    "hosts and just-in-time code that the new version doesn't try are permissions that it doesn't use",
    arguments: [false, true])
  func unused(isTried: Bool) throws {
    var policy = Policy()
    policy.network = [try NetworkEndpoint("a.example:443")]
    policy.executableMemory = .justInTime
    let denials =
      isTried
      ? [
        Observed.Denial(wall: "seccomp", call: "mprotect", target: "0x5"),
        Observed.Denial(wall: "seccomp", call: "socket", target: "0x2, 0x1, 0x0"),
        Observed.Denial(wall: "network", call: "connect", target: "a.example:443"),
      ] : []
    var recorder = PolicyRecorder(base: Policy())
    var step = recorder.handle([Self.observed(.returned, denials)], on: Self.machine)
    for _ in 0..<8 {
      guard case .run = step else { break }
      step = recorder.handle([Self.observed(.returned, denials)], on: Self.machine)
    }
    let side = LibraryComparison.Side(needed: [], exports: [], recording: recorder.soFar)
    let comparison = LibraryComparison(side, side, names: [], policy: policy)
    #expect(!comparison.matters)
    // Where it was refused a connection, it has tried that.
    #expect(comparison.unused.contains("executableMemory: jit") != isTried)
    #expect(comparison.unused.contains("network: a.example:443") != isTried)
  }

  /// Of a version that meets a limit so many times.
  private static func recorded(_ denial: Observed.Denial?, rounds: Int, kind: Outcome.Kind = .returned) -> Recording {
    var recorder = PolicyRecorder(base: Policy())
    for _ in 0..<rounds { _ = recorder.handle([observed(kind, denial.map { [$0] } ?? [])], on: machine) }
    for _ in 0..<2 { _ = recorder.handle([observed()], on: machine) }
    return recorder.soFar
  }

  @Test("a limit that had to be raised for the new version is more that it needs, and for the old one alone less")
  func raisedLimits() {
    let files = Observed.Denial(wall: "limits", call: "openat", target: "256 open files")
    let threads = Observed.Denial(wall: "limits", call: "clone", target: "64 threads")
    for (more, words) in [
      (Self.recorded(files, rounds: 1), "openFiles: 512"), (Self.recorded(threads, rounds: 1), "threads: 128"),
    ] {
      let (plain, other) = (
        LibraryComparison.Side(needed: [], exports: [], recording: Self.recorded(nil, rounds: 0)),
        LibraryComparison.Side(needed: [], exports: [], recording: more)
      )
      let wider = LibraryComparison(plain, other, names: [], policy: nil)
      #expect(wider.changes.contains { $0.matters && $0.text.contains("needs limits: {\(words)}") }, "\(wider.changes)")
      let smaller = LibraryComparison(other, plain, names: [], policy: nil)
      #expect(!smaller.matters && smaller.changes.contains { $0.text.contains("limits: {") }, "\(smaller.changes)")
      #expect(LibraryComparison(other, other, names: [], policy: nil).changes.isEmpty)
    }
  }

  /// Under `policy`, of a version whose tests used a quarter of a second, 10 ms of a processor, and 300 KiB.
  private static func comparison(_ policy: String, variables: Set<String> = []) throws -> LibraryComparison {
    var recorder = PolicyRecorder(base: Policy())
    for _ in 0..<2 { _ = recorder.handle([observed()], on: machine) }
    let side = LibraryComparison.Side(
      needed: [], exports: [], recording: recorder.soFar, variables: variables)
    return LibraryComparison(
      side, side, names: [], policy: try Policy(parsing: "version: 2\n\(policy)\n", file: "p"))
  }

  @Test("limits that are far above what was used are listed with what was reached, and what every plugin has isn't")
  func excess() throws {
    let wide = try Self.comparison(
      "limits: {wall: 10m, cpu: 5m, memory: 512MiB, openFiles: 4096, threads: 512, fileSize: 4GiB, logBytes: 1MiB}")
    #expect(
      wide.excess.map(\.name) == ["limits.wall", "limits.cpu", "limits.memory", "limits.openFiles", "limits.threads"])
    #expect(
      wide.excess.map(\.text)[2]
        == "limits.memory: 512MiB; the largest test used 300 KiB, and a recording would allow 4MiB")
    #expect(wide.excess[3].reached == "no test needed more than 256" && !wide.matters)
    for policy in ["limits: {}", "limits: {wall: 30s, cpu: 10s, memory: 8MiB}", "limits: {wall: 1s, memory: 1MiB}"] {
      #expect(try Self.comparison(policy).excess.isEmpty, "\(policy)")
    }
  }

  @Test("variables that no library of the new version has in it are permissions that it doesn't use")
  func variables() throws {
    let found = try Self.comparison("environment: [MAGIC=/srv/magic, LANG]", variables: ["LANG"]).unused
    #expect(found == ["environment: MAGIC, which no library that it loads has in it"])
  }

  @Test("names of folders, pairs of sockets and later code are permissions that a version doesn't use")
  func unusedPermissions() throws {
    let permissions = ["list: /srv", "network: pairs", "executableMemory: later"]
    let unused = try Self.comparison("files: {list: [/srv]}\nnetwork: pairs\nexecutableMemory: later").unused
    #expect(Set(unused) == Set(permissions), "\(unused)")
    for (denial, used) in [
      (Self.file("/srv/d"), permissions[0]),
      (Observed.Denial(wall: "seccomp", call: "socketpair", target: "0x1, 0x1, 0x0"), permissions[1]),
      (Observed.Denial(wall: "seccomp", call: "mmap", target: "0x5, 0x812"), permissions[2]),
      (Observed.Denial(wall: "seccomp", call: "mmap", target: "/opt/m"), permissions[2]),
    ] {
      var bounds = PolicyRecorder.Bounds()
      bounds.grantsLists = true
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      // What no policy grants is denied in each round.
      let isKept = denial.target.hasPrefix("0x5")
      for round in 0..<4 {
        let denials = round == 0 || isKept ? [denial] : []
        if case .finished = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) { break }
      }
      let side = LibraryComparison.Side(needed: [], exports: [], recording: recorder.soFar)
      let text = "version: 2\nfiles: {list: [/srv]}\nnetwork: pairs\nexecutableMemory: later\n"
      let found = LibraryComparison(
        side, side, names: [], policy: try Policy(parsing: text, file: "p")
      ).unused
      #expect(Set(found) == Set(permissions).subtracting([used]), "\(denial): \(found)")
    }
  }

  @Test("a pattern is a permission that a version doesn't use where none of what it stands for is needed")
  func patterns() throws {
    let folder = NSTemporaryDirectory() + "comparison-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in ["a.conf", "b.conf", "c.data", "d.data"] {
      try Data().write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
    }
    var recorder = PolicyRecorder(base: Policy())
    for round in 0..<4 {
      let denials = round == 0 ? [Self.file("\(folder)/b.conf")] : []
      if case .finished = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) { break }
    }
    let side = LibraryComparison.Side(needed: [], exports: [], recording: recorder.soFar)
    let text = "version: 2\nfiles: {read: ['\(folder)/*.conf', '\(folder)/*.data'], list: ['\(folder)/*.none']}\n"
    let unused = LibraryComparison(side, side, names: [], policy: try Policy(parsing: text, file: "p")).unused
    #expect(unused == ["read: \(folder)/*.data", "list: \(folder)/*.none"])
  }

  @Test("twice the time, and half a second more, is more that it needs, and what differs from run to run isn't")
  func times() {
    func side(_ cpu: Double, _ wall: Double) -> LibraryComparison.Side {
      var recorder = PolicyRecorder(base: Policy())
      var observed = Self.observed()
      (observed.cpuSeconds, observed.wallSeconds) = (cpu, wall)
      for _ in 0..<2 { _ = recorder.handle([observed], on: Self.machine) }
      return LibraryComparison.Side(needed: [], exports: [], recording: recorder.soFar)
    }
    for (old, new, words, matters) in [
      (
        side(0, 0.1), side(4, 4.1), ["takes 4000.0 ms of the processor, was 0.0 ms", "takes 4100.0 ms of the clock"],
        true
      ),
      (side(4, 4.1), side(0, 0.1), ["takes 0.0 ms of the processor, was 4000.0 ms"], false),
      (side(2, 2), side(3.9, 3.9), [], false), (side(0.01, 0.01), side(0.4, 0.4), [], false),
    ] {
      let comparison = LibraryComparison(old, new, names: [], policy: nil)
      #expect(comparison.matters == matters, "\(comparison.changes)")
      for word in words { #expect(comparison.changes.contains { $0.text.contains(word) }, "\(comparison.changes)") }
      if words.isEmpty { #expect(comparison.changes.isEmpty, "\(comparison.changes)") }
    }
  }
}
