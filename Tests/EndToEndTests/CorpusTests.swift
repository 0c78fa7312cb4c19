import Foundation
import PluginHost
import PolicyLab
import TestSupport
import Testing

/// Every row of `Plugins/hostile/expected.tsv`: what a plugin tries, and the one right outcome.
///
/// One host goes through all the rows of a half, as one does that runs for months: what a row leaves behind would show in
/// the next ones. The halves run side by side, since most rows wait for a clock.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CorpusTests {
  static let corpus = try? Corpus(
    parsing: String(contentsOfFile: Workspace.root + "/Plugins/hostile/expected.tsv", encoding: .utf8))

  /// `OUTRIDER_ROWS=H28,H34` runs the rows of those threats alone.
  static let rows: [(Int, Corpus.Row)] = {
    let wanted = ProcessInfo.processInfo.environment["OUTRIDER_ROWS"]?.split(separator: ",").map(String.init)
    return (corpus?.rows ?? []).enumerated().filter { wanted?.contains($0.1.id) ?? true }.map {
      ($0.offset, $0.element)
    }
  }()

  @Test func theCorpusIsThere() {
    let rows = Self.corpus?.rows ?? []
    #expect(rows.count >= 500, "run 'make -C Plugins/hostile'; \(rows.count) rows")
    #expect(Set(rows.flatMap(\.outcomes)).count >= 8)
  }

  @Test("a policy beside which no hosts can be listed fails the rows that list some, and ends no other") func hosts()
    async throws
  {
    let folder = Workspace.root + "/Plugins/hostile"
    let host = try Workspace.host()
    defer { host.stop() }
    var runner = CorpusRunner(host: host, folder: folder, manifest: folder + "/manifest.json")
    runner.policy.read = ["/etc"]
    let rows = Self.corpus?.rows.filter { ["H142", "H78"].contains($0.id) } ?? []
    let names = try #require(rows.first { $0.id == "H142" })
    let result = try await runner.run(names, of: "expected.tsv")
    #expect(result.observed.outcome.kind == .wallUnavailable && result.observed.outcome.detail.contains("/etc/hosts"))
    #expect(try await runner.run(#require(rows.first { $0.id == "H78" }), of: "expected.tsv").isAsExpected)
  }

  /// In runners that stood ready. The walls are the same.
  @Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct Prepared {
    private static let host = Result { try Workspace.host() }

    @Test(arguments: rows.filter { $0.0.isMultiple(of: 2) }.map(\.1)) func behaves(_ row: Corpus.Row) async throws {
      try await Self.host.get().prepare()
      try await CorpusTests.check(row, in: Self.host.get())
    }
  }

  /// In runners that are made for their plugin.
  @Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct Cold {
    private static let host = Result { try Workspace.host() }

    @Test(arguments: rows.filter { !$0.0.isMultiple(of: 2) }.map(\.1)) func behaves(_ row: Corpus.Row) async throws {
      try await CorpusTests.check(row, in: Self.host.get())
    }
  }

  fileprivate static func check(_ row: Corpus.Row, in host: PluginHost) async throws {
    let folder = Workspace.root + "/Plugins/hostile"
    let runner = CorpusRunner(host: host, folder: folder, manifest: folder + "/manifest.json")
    for line in try await runner.run(row, of: "expected.tsv").lines {
      #expect(line.mismatch == nil, "\(row.sentence): expected \(line.expectation)")
    }
  }
}

extension Corpus.Row: CustomTestStringConvertible {
  public var testDescription: String { name }
}
