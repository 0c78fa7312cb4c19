import Foundation
import PluginHost
import PolicyLab
import Sandbox
import TestSupport
import Testing

/// What docs/policy-testing.md says of the corpus with one wall left open. Tests/wall-corpus compares the whole of it.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CorpusWallTests {
  /// The behaviours that the table names, by the wall.
  private static let through: [Wall: Set<String>] = {
    let text = (try? String(contentsOfFile: Workspace.root + "/docs/policy-testing.md", encoding: .utf8)) ?? ""
    var all: [Wall: Set<String>] = [:]
    for line in text.split(separator: "\n") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 3, Int(cells[1]) != nil else { continue }
      for name in cells[0].components(separatedBy: ", ") {
        guard let wall = Wall(rawValue: name) else { continue }
        all[wall] = Set(cells[2].matches(of: #/`(\w+)`/#).map { String($0.1) })
      }
    }
    return all
  }()

  @Test(
    "with a wall left open, what the documentation names gets through, and nothing else of the same kinds", .asRoot,
    arguments: [Wall.mountNamespace, .pidNamespace, .landlock, .networkNamespace, .ipcNamespace, .utsNamespace])
  func getsThrough(wall: Wall) async throws {
    let folder = Workspace.root + "/Plugins/hostile"
    let corpus = try Corpus(parsing: String(contentsOfFile: folder + "/expected.tsv", encoding: .utf8))
    let named = Set(Self.through.values.flatMap(\.self))
    #expect(Set(Self.through.keys) == CorpusRunner.removable && named.count == 4)
    let host = try Workspace.host(withoutNamespaces: CorpusRunner.namespaces.intersection([wall]))
    var runner = CorpusRunner(host: host, folder: folder, manifest: folder + "/manifest.json")
    runner.withoutWalls = [wall]
    var found: Set<String> = []
    // All of their threats: what looks for files, and what reaches for other processes.
    for row in corpus.rows where ["H61", "H69", "H107", "H31"].contains(row.id) {
      if try await runner.run(row, of: "expected.tsv").gotThrough { found.insert(try #require(row.symbol)) }
    }
    #expect(found == Self.through[wall], "without \(wall.rawValue)")
  }
}
