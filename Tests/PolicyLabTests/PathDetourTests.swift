import Sandbox
import Testing

@testable import PluginHost
@testable import PolicyLab

/// What a path with `..` is granted as, where the folder before that is a link.
@Suite(.timeLimit(.minutes(1))) struct PathDetourTests: RecorderScene {
  /// /w/link leads to /w/s/t, /w/process to what each process has of its own.
  private static let links = ["/w/link": "/w/s/t", "/w/s/again": "/w/link/u", "/w/process": "/proc/17/cwd"]
  private static let folders: Set<String> = ["/", "/w", "/w/s", "/w/s/t", "/w/s/t/u", "/proc/17/cwd"]

  private static func real(_ path: String) -> String {
    var path = path
    while let link = links.first(where: { path == $0.key || path.hasPrefix($0.key + "/") }) {
      path = link.value + path.dropFirst(link.key.count)
    }
    return path
  }

  private static var machine: Remedy.Machine {
    var machine = Remedy.Machine { folders.contains(real($0)) ? true : $0.hasSuffix("0") ? nil : false }
    machine.real = real
    machine.hops = { real($0) == $0 ? [] : [real($0)] }
    return machine
  }

  private static let paths: [(String, String?)] = [
    ("/w/link/../f", "/w/s/f"), ("/w/s/../f", "/w/f"), ("/w/s/t/u/../../f", "/w/s/f"), ("/w/link/u/../../f", "/w/s/f"),
    ("/w/s/again/../f", "/w/s/t/f"), ("/w/./link//../f", "/w/s/f"), ("/../w/f", "/w/f"), ("/w/f", "/w/f"),
    ("/w/link/f", "/w/link/f"), ("/container/a/../../w/f", "/w/f"),
    // No folder, nothing, and another one for each process.
    ("/w/f/../g", nil), ("/w/none0/../f", nil), ("/w/process/../f", nil),
    ("/w" + String(repeating: "/s/..", count: 40) + "/f", nil),
  ]

  @Test("a remedy offers what the kernel resolves a path to, and nothing where that can't be told", arguments: paths)
  func remedies(path: String, meaning: String?) {
    let denial = RunReport.Denial(wall: "files", operation: "openat", target: path, count: 1)
    let remedy = Remedy(for: denial, under: Policy(), on: Self.machine)
    #expect(remedy.line == meaning.map { "files: {read: [\($0)]}" }, "\(remedy)")
    #expect(remedy.words.contains("what it means can't be told") == (meaning == nil), "\(remedy)")
    let write = RunReport.Denial(wall: "files", operation: "openat", target: path, count: 1, writes: true)
    let writing = Remedy(for: write, under: Policy(), on: Self.machine)
    #expect(writing.line == meaning.map { "files: {write: [$CONTAINER, $TMP, \($0)]}" }, "\(writing)")
  }

  @Test("recording grants what the kernel resolves a path to, and nothing where that can't be told", arguments: paths)
  func recording(path: String, meaning: String?) throws {
    var machine = PolicyRecorder.Machine(
      kind: { path in Self.machine.isFolder(path).map { $0 ? .folder : .file } ?? .absent }, real: Self.real)
    machine.hops = Self.machine.hops
    for call in ["openat", "mmap"] {
      var recorder = PolicyRecorder(base: Policy())
      guard case .run(let policy) = recorder.handle([Self.observed(.returned, [Self.file(path, call)])], on: machine)
      else { throw MissingStep() }
      #expect(policy.grants == [meaning].compactMap(\.self), "\(call)")
    }
  }

  @Test("an expectation is about what the path meant where the plugin named it") func expectations() throws {
    var denial = Observed.Denial(wall: "files", call: "openat", target: "/w/link/../f")
    denial.resolved = "/w/s/f"
    let observed = Self.observed(.returned, [denial])
    func holds(_ text: String) throws -> Bool {
      try PolicyLab.Expectation(parsing: text).mismatch(with: observed) == nil
    }
    #expect(try holds("deny /w/s/f") && holds("allow /w/f"))
    #expect(try !holds("deny /w/f") && !holds("allow /w/s/f"))
  }
}
