import Foundation
import TestSupport
import Testing

/// `outrider policy record run` of the extensions in `Plugins`, and of the hostile corpus's well-behaved ones.
@Suite(.ownThreads, .timeLimit(.minutes(5))) struct RecordedPluginTests {
  /// The parts of an extension's answers that a run of the same has again.
  private static func answers(of run: Workspace.Finished) throws -> [String] {
    let report = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any], "\(run)")
    let outcome = try #require(report["outcome"] as? [String: Any])
    let denials = try #require(report["denials"] as? [Any])
    #expect(denials.isEmpty, "\(denials)")
    let downloads = try #require(report["downloads"] as? [[String: Any]])
    return ["\(outcome["kind"] ?? "")"]
      + downloads.map { "\($0["identifier"] ?? "") \($0["url"] ?? "") \($0["essential"] ?? "")" }.sorted()
  }

  @Test(
    "what is recorded for an example extension is enough for it: the same answers, and nothing is denied",
    arguments: ExtensionTests.extensions + ["\(Workspace.hostile)/good.so"])
  func extensions(library: String) throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Workspace.manifest.write(toFile: "\(folder)/m.json", atomically: true, encoding: .utf8)
    let policy = "\(folder)/p.yaml"
    for request in ["install", "update", "periodic"] {
      let run = ["run", library, "--request", request, "--manifest", "\(folder)/m.json"]
      let before = try Workspace.run(run + ["--observe", "--json"])
      let end = try Workspace.run(["policy", "record", "--output", policy] + run)
      let text = try String(contentsOfFile: policy, encoding: .utf8)
      #expect(end.status == 0 && !end.errors.contains("denied"), "\(end) \(text)")
      let after = try Workspace.run(run + ["--observe", "--json", "--policy", policy])
      #expect(after.status == 0 && before.status == 0, "\(after) with \(text)")
      let answers = try Self.answers(of: after)
      #expect(try Self.answers(of: before) == answers && answers.count > 1, "\(answers)")
      let check = try Workspace.run(["policy", "check", "--strict", policy])
      #expect(check.status == 0, "\(check) with \(text)")
    }
  }
}
