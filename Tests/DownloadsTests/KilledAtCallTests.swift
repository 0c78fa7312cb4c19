import AssetStore
import Basics
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

@testable import Downloads

/// Kills a program at a system call; see Tests/KillAtCall.
enum Killer {
  static let program = "\(ChildProcess.products)/kill-at-call"
  static let works = (try? ChildProcess.runBriefly(program, ["0", "/bin/true"]))?.code == 0
}

/// F-41 and F-43 for the whole command: killed at a system call that leaves a trace, SQLite's own ones among them, and then
/// used on. A few calls by chance; every one of them with OUTRIDER_EVERY_CALL=1.
@Suite(.enabled(if: Killer.works, "ptrace(2) or seccomp(2) isn't allowed here"), .timeLimit(.minutes(30)))
struct KilledAtCallTests {
  enum Scene: CaseIterable, Sendable {
    /// There is no state folder yet.
    case firstStart
    /// The journal has to grow, and is written back at the end.
    case growing
    /// A run was killed in the middle of a file: its successor is killed as well.
    case recovering
    /// The journal is damaged, and its backup takes its place.
    case startingFresh
  }

  private static let program = "\(ChildProcess.products)/outrider"
  private static let large = Content.pseudoRandom(seed: 3, count: (2 << 20) + 3)
  private static let small = Content.pseudoRandom(seed: 4, count: 1024)
  private static let each = ProcessInfo.processInfo.environment["OUTRIDER_EVERY_CALL"] != nil
  private static let sample = 12

  @Test("F-41 F-43 killed at any system call, the next command works and the file is right", arguments: Scene.allCases)
  func killed(scene: Scene) async throws {
    let run = try Run(scene)
    defer { run.end() }
    let all = try await run.count()
    try #require(all > 40, "there is something to kill")
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    // What comes last puts the journal in order: half of the sample is of that.
    let numbers =
      Self.each
      ? Array(1...all)
      : (0..<Self.sample).map { Int.random(in: $0 % 2 == 0 ? 1...all : max(1, all - 60)...all, using: &random) }
    for number in numbers { try await run.interrupt(at: number, "\(scene), call \(number) of \(all), seed \(seed)") }
  }

  /// One scene, again and again in one folder: the journal knows it by its path.
  final class Run {
    private let scene: Scene
    private let origin: Origin
    private let base: String
    private let folder: String
    private var isPrepared = false

    init(_ scene: Scene) throws {
      self.scene = scene
      origin = try Origin { configuration in
        configuration.resources["/large"] = Resource(KilledAtCallTests.large)
        for number in 0..<60 { configuration.resources["/\(number)"] = Resource(KilledAtCallTests.small) }
      }
      base = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-killed-")
      folder = "\(base)/now"
    }

    func end() {
      origin.stop()
      Files.removeTree(base)
    }

    private var names: [String] {
      switch scene {
      case .firstStart: ["0"]
      case .growing: (20..<40).map { "\($0)" }
      case .recovering: ["large"]
      case .startingFresh: ["1"]
      }
    }

    private func fetch(_ names: [String], _ options: [String] = [], killedAt number: Int = 0) async throws
      -> ChildProcess.Ended
    {
      let urls = names.map { origin.url("/\($0)") }
      return try await ChildProcess.run(
        Killer.program,
        ["\(number)", KilledAtCallTests.program, "fetch", "--foreground", "--to", "\(folder)/files", "--state"]
          + ["\(folder)/state"] + options + urls, log: "\(base)/log")
    }

    /// What the command that is killed finds.
    private func prepare() async throws {
      Files.removeTree(folder)
      if scene == .growing || scene == .startingFresh, isPrepared {
        return try FileManager.default.copyItem(atPath: "\(base)/prepared", toPath: folder)
      }
      mkdir(folder, 0o700)
      mkdir("\(folder)/files", 0o700)
      switch scene {
      case .firstStart: return
      // Not copied: a partial file is known by its inode.
      case .recovering: _ = try await fetch(["large"], killedAt: 140)
      case .growing, .startingFresh:
        let names = scene == .growing ? (0..<20).map { "\($0)" } : ["0"]
        let ended = try await fetch(names)
        #expect(ended.code == 0, "\(ended.output)")
        if scene == .startingFresh {
          let path = "\(folder)/state/\(AssetStore.databaseName)"
          #expect(truncate(path, off_t(try Files.identity(of: path).size / 2)) == 0)
        }
        try FileManager.default.copyItem(atPath: folder, toPath: "\(base)/prepared")
        isPrepared = true
      }
    }

    private var options: [String] { scene == .startingFresh ? ["--start-fresh"] : [] }

    /// Calls of the command that is killed.
    func count() async throws -> Int {
      try await prepare()
      let ended = try await fetch(names, options)
      #expect(ended.code == 0, "\(ended.output)")
      let line = ended.output.split(separator: "\n").last { $0.hasPrefix("calls ") }
      return try #require(line.flatMap { Int($0.dropFirst(6)) })
    }

    func interrupt(at number: Int, _ what: String) async throws {
      try await prepare()
      let killed = try await fetch(names, options, killedAt: number)
      let place = "\(what): \(killed.output.split(separator: "\n").last ?? "")"
      for name in names {
        let there = FileManager.default.contents(atPath: "\(folder)/files/\(name)")
        #expect(there == nil || there == content(of: name), "never half a file at its place, \(place)")
      }
      let hasState = Files.exists("\(folder)/state")
      let explained = try await ChildProcess.run(
        KilledAtCallTests.program, ["explain", "1", "--state", "\(folder)/state"], log: "\(base)/log")
      var ended = try await fetch(names)
      if scene == .startingFresh {
        // Damaged as before, or gone: who says so again goes on.
        #expect([0, 66, 73].contains(explained.code), "\(place): \(explained.output)")
        if ended.code == 73 { ended = try await fetch(names, options) }
      } else {
        #expect(
          [0, 66].contains(explained.code) || !hasState, "\(place): \(explained.output)")
      }
      #expect(ended.code == 0, "\(place): \(ended.output)")
      for name in names {
        #expect(
          FileManager.default.contents(atPath: "\(folder)/files/\(name)") == content(of: name), "\(name), \(place)")
      }
      let left = try FileManager.default.subpathsOfDirectory(atPath: "\(folder)/files")
      #expect(left.allSatisfy { !$0.hasPrefix(".") }, "nothing is left behind, \(place): \(left)")
    }

    private func content(of name: String) -> Data {
      let content = name == "large" ? KilledAtCallTests.large : KilledAtCallTests.small
      return Data(content.bytes(in: 0..<content.count))
    }
  }
}
