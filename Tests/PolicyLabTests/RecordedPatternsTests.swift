import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

/// `policy record --glob`.
@Suite(.timeLimit(.minutes(1))) struct RecordedPatternsTests: RecorderScene {
  /// `all`: what a pattern stands for there.
  private static func record(
    _ paths: [String], all: [String]?, usesPatterns: Bool = true, never: Set<String> = [],
    isPrivate: @escaping (String) -> Bool = { _ in false }, last: Observed = observed(), base: Policy = Policy()
  ) throws -> Recording {
    var bounds = PolicyRecorder.Bounds()
    (bounds.usesPatterns, bounds.never) = (usesPatterns, never)
    var machine = PolicyRecorder.Machine(kind: kind, isPrivate: isPrivate)
    machine.matches = { pattern in all?.filter(pattern.covers) }
    var recorder = PolicyRecorder(base: base, bounds: bounds)
    guard case .run = recorder.handle([observed(.returned, paths.map { file($0) })], on: machine),
      case .run = recorder.handle([observed()], on: machine)
    else { throw MissingStep() }
    switch recorder.handle([last], on: machine) {
    case .finished(let recording): return recording
    case .stopped: throw MissingStep()
    case .run:
      guard case .finished(let recording) = recorder.handle([observed()], on: machine) else { throw MissingStep() }
      return recording
    }
  }

  private static let asked = ["/data/x.b", "/data/y.b", "/other/z"]

  @Test("paths become a pattern only where that was asked for, and its line says what it stands for")
  func asked() throws {
    let all = ["/data/v.b", "/data/w.b", "/data/x.b", "/data/y.b"]
    let plain = try Self.record(Self.asked, all: all, usesPatterns: false)
    #expect(plain.policy.read == Self.asked && plain.policy.patterns.isEmpty)
    let recording = try Self.record(Self.asked, all: all)
    #expect(recording.policy.read == ["/other/z"] && recording.policy.patterns.map(\.pattern.text) == ["/data/*.b"])
    let text = PolicyText(recording, command: "x").text
    let line =
      "    - \"/data/*.b\"  # openat × 2; in the place of 2 paths, and wider than what was seen: others that match here: 2\n"
    #expect(text.contains(line), "\(text)")
    #expect(try Policy(parsing: text, file: "recorded").patterns == recording.policy.patterns)
  }

  @Test("what would be granted by a pattern and not by itself keeps the paths as they are, and is said")
  func kept() throws {
    for (other, never, isPrivate, all, words) in [
      ("/data/d.b", ["/data/d.b"], false, true, "a test expects /data/d.b to be denied"),
      ("/data/secret.b", [], true, true, "would grant /data/secret.b as well, which other users may not read"),
      ("/data/folder.b", [], false, true, "would grant /data/folder.b as well, which isn't a file"),
      ("/data/v.b", [], false, false, "more than a policy can have"),
    ] as [(String, Set<String>, Bool, Bool, String)] {
      var bounds = PolicyRecorder.Bounds()
      (bounds.usesPatterns, bounds.never) = (true, never)
      var machine = PolicyRecorder.Machine(
        kind: { $0.contains("folder") ? .folder : Self.kind($0) }, isPrivate: { isPrivate && $0 == other })
      machine.matches = { pattern in all ? ["/data/x.b", "/data/y.b", other].filter(pattern.covers) : nil }
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      let denials = Self.asked.map { Self.file($0) }
      guard case .run = recorder.handle([Self.observed(.returned, denials)], on: machine),
        case .run = recorder.handle([Self.observed()], on: machine),
        case .finished(let recording) = recorder.handle([Self.observed()], on: machine)
      else { throw MissingStep() }
      let text = PolicyText(recording, command: "x").text
      #expect(recording.policy.read == Self.asked && recording.policy.patterns.isEmpty, "\(text)")
      #expect(text.contains("# no pattern: /data/*.b; ") && text.contains(words), "\(text)")
    }
    // As root that many fit no request; and nothing of the system.
    let many = (0..<400).map { "/data/f\($0).b" } + ["/data/x.b", "/data/y.b"]
    #expect(try Self.record(Self.asked, all: many).policy.patterns.isEmpty)
    let both = ["/data/a.b", "/data/b.b", "/other/a.c", "/other/b.c"]
    let halves = (0..<150).flatMap { ["/data/f\($0).b", "/other/f\($0).c"] } + both
    #expect(try Self.record(both, all: halves).policy.patterns.map(\.pattern.text) == ["/data/*.b"])
    let system = try Self.record(["/etc/shape", "/etc/shadows"], all: ["/etc/shadow", "/etc/shadows", "/etc/shape"])
    #expect(system.policy.patterns.isEmpty && system.policy.read == ["/etc/shadows", "/etc/shape"])
  }

  @Test("what the policy that recording started from names, and what is written, keeps its name") func named() throws {
    var base = Policy()
    base.read = ["/data/x.b"]
    let recording = try Self.record(["/data/y.b"], all: ["/data/x.b", "/data/y.b"], base: base)
    #expect(recording.policy.read == ["/data/x.b", "/data/y.b"] && recording.policy.patterns.isEmpty)
    var bounds = PolicyRecorder.Bounds()
    bounds.usesPatterns = true
    var machine = Self.machine
    machine.matches = { pattern in ["/data/x.b", "/data/y.b"].filter(pattern.covers) }
    var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
    let writes = ["/data/x.b", "/data/y.b"].map { Self.file($0, writes: true) }
    guard case .run = recorder.handle([Self.observed(.returned, writes)], on: machine),
      case .run(let last) = recorder.handle([Self.observed()], on: machine)
    else { throw MissingStep() }
    #expect(last.write == ["/data/x.b", "/data/y.b"] && last.patterns.isEmpty)
  }

  @Test("patterns that the last round disproves give way to the paths that were enough") func disproved() throws {
    let recording = try Self.record(
      Self.asked, all: ["/data/x.b", "/data/y.b"], last: Self.observed(.returned, [Self.file("/data/x.b")]))
    #expect(recording.policy.read == Self.asked && recording.policy.patterns.isEmpty)
    #expect(PolicyText(recording, command: "x").text.contains("- /data/x.b  # openat\n"))
  }
}
