import AssetModel
import Foundation
import HostProtocol
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Every row of `Plugins/hostile/expected.tsv`: what a plugin tries, and the one right outcome.
///
/// One host goes through all the rows of a half, as one does that runs for months: what a row leaves behind would show in
/// the next ones. The halves run side by side, since most rows wait for a clock.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CorpusTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var id, library, symbol, signature, arguments, options, outcomes, values, denied, sentence: String
    var number = 0
    var isExtension: Bool { symbol == "-" }
    var testDescription: String { "\(id) \(isExtension ? library : symbol) \(arguments)" }
  }

  /// `OUTRIDER_ROWS=H28,H34` runs the rows of those threats alone.
  static let rows: [Row] = {
    let wanted = ProcessInfo.processInfo.environment["OUTRIDER_ROWS"]?.split(separator: ",").map(String.init)
    return all.filter { wanted?.contains($0.id) ?? true }
  }()

  static let all: [Row] = {
    guard let text = try? String(contentsOfFile: Workspace.root + "/Plugins/hostile/expected.tsv", encoding: .utf8)
    else { return [] }
    return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.enumerated().compactMap { number, line in
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard cells.count >= 11 else { return nil }
      return Row(
        id: cells[0], library: cells[1], symbol: cells[2], signature: cells[3], arguments: cells[4], options: cells[5],
        outcomes: cells[6], values: cells[7], denied: cells[8], sentence: cells[10], number: number)
    }
  }()

  @Test func theCorpusIsThere() {
    #expect(Self.all.count >= 500, "run 'make -C Plugins/hostile'; \(Self.all.count) rows")
    #expect(Set(Self.all.flatMap { $0.outcomes.split(separator: "|") }).count >= 8)
  }

  /// In runners that stood ready. The walls are the same.
  @Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct Prepared {
    private static let host = Result { try Workspace.host() }

    @Test(arguments: rows.filter { $0.number.isMultiple(of: 2) }) func behaves(_ row: Row) async throws {
      try await Self.host.get().prepare()
      try await CorpusTests.check(row, in: Self.host.get())
    }
  }

  /// In runners that are made for their plugin.
  @Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct Cold {
    private static let host = Result { try Workspace.host() }

    @Test(arguments: rows.filter { !$0.number.isMultiple(of: 2) }) func behaves(_ row: Row) async throws {
      try await CorpusTests.check(row, in: Self.host.get())
    }
  }

  fileprivate static func check(_ row: Row, in host: PluginHost) async throws {
    let (outcome, value, report) = try await run(row, in: host)
    let allowed = row.outcomes.split(separator: "|").map(String.init)
    #expect(allowed.contains(outcome.kind.rawValue), "\(row.sentence): \(outcome.kind.rawValue), \(outcome.detail)")
    if !["-", "*"].contains(row.values), outcome.kind == .returned, let value {
      #expect(fits(value, row.values), "\(row.sentence): \(value)")
    }
    switch row.denied {
    case "*": break
    case "-": #expect(report.denials.isEmpty, "\(report.denials)")
    case let names:
      let seen = Set(report.denials.map(\.operation))
      #expect(names.split(separator: "|").contains { seen.contains(String($0)) }, "\(row.sentence): only \(seen)")
    }
  }

  /// `A|B` names values, `A..B` a range.
  private static func fits(_ value: String, _ expected: String) -> Bool {
    if expected.split(separator: "|").contains(where: { $0 == value }) { return true }
    let bounds = expected.components(separatedBy: "..").compactMap { Int64($0) }
    guard bounds.count == 2, let number = Int64(value) else { return false }
    return (bounds[0]...bounds[1]).contains(number)
  }

  private static func policy(_ row: Row) throws -> Policy {
    var policy = Policy()
    let words = row.options == "-" ? [] : row.options.split(separator: " ").map(String.init)
    for (index, word) in words.enumerated() where word.hasPrefix("--") {
      let next = words.indices.contains(index + 1) ? words[index + 1] : ""
      switch word {
      case "--wall": policy.limits.wall = try #require(Quantity.duration(next))
      case "--cpu": policy.limits.cpu = try #require(Quantity.duration(next))
      case "--memory": policy.limits.memory = try #require(Quantity.bytes(next))
      case "--observe": policy.observesFiles = true
      case "--request": break
      default: Issue.record("\(row.id): the option \(word) isn't known to this test")
      }
    }
    return policy
  }

  private static func arguments(_ row: Row) throws -> [CallArgument] {
    let kinds = try CallSignature(parsing: row.signature).arguments
    return zip(row.arguments == "-" ? [] : row.arguments.split(separator: " ").map(String.init), kinds).map {
      word, kind in
      kind == .cstring || kind == .bytes ? .text(word) : Int64(word).map { .integer($0) } ?? .text(word)
    }
  }

  private static func run(_ row: Row, in host: PluginHost) async throws -> (Outcome, String?, RunReport) {
    let manifest = try Workspace.temporaryFile(Workspace.manifest)
    defer { try? FileManager.default.removeItem(atPath: manifest) }
    var options = PluginHost.LoadOptions()
    options.manifest = manifest
    options.isExtension = row.isExtension
    let kind: ContentRequestKind = row.options.contains("periodic") ? .periodic : .install
    do {
      let plugin = try await host.load(
        "\(Workspace.root)/Plugins/hostile/\(row.library)", policy: try policy(row), options: options)
      var value: String?
      // What ends a call alone isn't in the report of the run.
      var missing: Outcome?
      do {
        if row.isExtension {
          let verdict = try await plugin.contentRequest(kind)
          value = "\(verdict.accepted.count)/\(verdict.rejected.count)"
        } else {
          let result = try await plugin.call(row.symbol, row.signature, arguments: arguments(row))
          switch result.value {
          case .signed(let number): value = "\(number)"
          case .unsigned(let number): value = "\(number)"
          default: break
          }
        }
      } catch HostError.entryPointMissing(let what) {
        missing = Outcome(.entryPointMissing, what)
      } catch {
        guard (error as? HostError)?.report != nil else { throw error }
      }
      let report = await plugin.end()
      return (missing ?? report.outcome, value, report)
    } catch {
      let report = try #require((error as? HostError)?.report, "\(error)")
      return (report.outcome, nil, report)
    }
  }
}
