import Foundation
import TestSupport
import Testing

/// What a benchmark leaves behind.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct BenchTests {
  private let plugin = Workspace.root + "/Plugins/catalog-c/catalog.so"
  private let folder: String

  init() throws {
    folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
  }

  private func left() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder) }

  @Test(arguments: ["wake", "nonsense"]) func itsManifestGoes(_ what: String) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let library = what == "wake" ? plugin : "/nonexistent.so"
    let finished = try Workspace.run(["bench", "wake", library, "-n", "1"], environment: ["TMPDIR": folder])
    #expect(finished.status == (what == "wake" ? 0 : 66), "\(finished.errors)")
    #expect(try left().isEmpty)
  }

  @Test(arguments: ["wake", "kill", "leaks"]) func itsExtensionIsThere(what: String) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let finished = try Workspace.run(["bench", what, folder + "/none.so", "-n", "1"])
    #expect(finished.status == 66 && finished.output.isEmpty && finished.errors.contains("none.so: "), "\(finished)")
  }

  @Test("what calls have no use for is refused", arguments: [["none.so"], [""], ["--manifest", "none.json"]])
  func calls(words: [String]) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let finished = try Workspace.run(["bench", "call"] + words + ["-n", "1"])
    let sentence = "leave \(words[0] == "--manifest" ? words[0] : "the extension") out"
    #expect(
      finished.status == 64 && finished.output.isEmpty && finished.errors.contains(sentence), "\(finished)")
  }

  @Test("only calls are measured without an extension", arguments: ["wake", "call", "kill", "leaks", "neighbours"])
  func withoutExtension(what: String) throws {
    let finished = try Workspace.run(["bench", what, "-n", "1"], environment: ["TMPDIR": folder])
    #expect(finished.status == (what == "call" ? 0 : 64), "\(finished)")
    #expect(finished.output.contains("warm call") == (what == "call"))
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("neighbours ends, and tells what calls of both kinds take alone, beside a process and beside each behaviour")
  func neighbours() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let hostile = Workspace.root + "/Plugins/hostile"
    let corpus = folder + "/corpus"
    try FileManager.default.createDirectory(atPath: corpus, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(atPath: corpus + "/build", withDestinationPath: hostile + "/build")
    let lines = try String(contentsOfFile: hostile + "/expected.tsv", encoding: .utf8).split(separator: "\n")
    let chosen = lines.filter { $0.hasPrefix("#") || $0.contains("\th01_") }
    try Data(chosen.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: corpus + "/expected.tsv"))
    let finished = try Workspace.run(["bench", "neighbours", corpus, "-n", "1", "--json"])
    #expect(finished.status == 0, "\(finished.errors)")
    for name in ["alone", "beside a process that computes", "beside H01 h01_spin"] {
      #expect(finished.output.contains(name), "\(finished.output)")
    }
    // The ratio that is promised is of figures of one run. How large it is depends on who else has the processors.
    let report = try #require(try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any])
    let ratios = try #require(report["ratios"] as? [[String: Any]])
    let figures = try #require(report["microseconds"] as? [[String: Any]])
    let kinds = ["call each millisecond", "call that follows another"]
    #expect(
      ratios.map { $0["name"] as? String }
        == kinds.flatMap {
          ["\($0): p99 beside a process that computes to p99 alone", "\($0): p99 beside the behaviours to p99 alone"]
        })
    for (index, kind) in kinds.enumerated() {
      let p99 = figures.filter { ($0["name"] as? String ?? "").hasPrefix(kind) }.compactMap { $0["p99"] as? Double }
      #expect(p99.count >= 4, "\(report)")
      for (ratio, figure) in zip(ratios.dropFirst(index * 2), p99[1...2]) {
        #expect(abs((ratio["value"] as? Double ?? 0) - figure / p99[0]) < 1e-9, "\(report)")
      }
    }
  }

  @Test func anInterruptTakesItAlong() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["bench", "wake", plugin, "-n", "100000"]
    process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    _ = try Runners.waitForOne(of: process.processIdentifier)
    #expect(try left().allSatisfy { $0.hasPrefix("outrider-bench-") && $0.count > 18 })
    process.interrupt()
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    #expect(try left().isEmpty)
  }
}
