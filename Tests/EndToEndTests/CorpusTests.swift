import AssetModel
import Foundation
import PluginHost
import Sandbox
import Testing

/// Every row of `Plugins/hostile/expected.tsv`: what a plugin tries, and the one right outcome.
@Suite(.serialized) struct CorpusTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var id, library, symbol, signature, options, outcomes, values, denied, sentence: String
    var testDescription: String { "\(id) \(symbol == "-" ? library : symbol)" }
  }

  static let rows: [Row] = {
    guard let text = try? String(contentsOfFile: Workspace.root + "/Plugins/hostile/expected.tsv", encoding: .utf8) else { return [] }
    return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard cells.count >= 9 else { return nil }
      return Row(
        id: cells[0], library: cells[1], symbol: cells[2], signature: cells[3], options: cells[4], outcomes: cells[5],
        values: cells[6], denied: cells[7], sentence: cells[8])
    }
  }()

  @Test func theCorpusIsThere() {
    #expect(Self.rows.count >= 40, "run 'make -C Plugins/hostile'; \(Self.rows.count) rows")
    #expect(Set(Self.rows.flatMap { $0.outcomes.split(separator: "|") }).count >= 8)
  }

  @Test(arguments: rows) func behaves(_ row: Row) async throws {
    let (outcome, value, report) = try await run(row)
    let allowed = row.outcomes.split(separator: "|").map(String.init)
    #expect(allowed.contains(outcome.kind.rawValue), "\(row.sentence): \(outcome.kind.rawValue), \(outcome.detail)")
    if row.values != "-", outcome.kind == .returned, let value {
      #expect(row.values.split(separator: "|").map(String.init).contains(value), "\(row.sentence): \(value)")
    }
    switch row.denied {
    case "*": break
    case "-": #expect(report.denials.isEmpty, "\(report.denials)")
    case let names:
      let seen = Set(report.denials.map(\.operation))
      #expect(names.split(separator: "|").contains { seen.contains(String($0)) }, "\(row.sentence): only \(seen)")
    }
  }

  private func run(_ row: Row) async throws -> (Outcome, String?, RunReport) {
    var policy = Policy(limits: Limits(wall: .seconds(10)))
    let words = row.options == "-" ? [] : row.options.split(separator: " ").map(String.init)
    for (index, word) in words.enumerated() where word.hasPrefix("--") {
      let next = words.indices.contains(index + 1) ? words[index + 1] : ""
      switch word {
      case "--wall": policy.limits.wall = try #require(Quantity.duration(next))
      case "--cpu": policy.limits.cpu = try #require(Quantity.duration(next))
      case "--memory": policy.limits.memory = try #require(Quantity.bytes(next))
      case "--observe": policy.observesFiles = true
      default: break
      }
    }
    let manifest = try Workspace.temporaryFile(Workspace.manifest)
    defer { try? FileManager.default.removeItem(atPath: manifest) }
    var options = PluginHost.LoadOptions()
    options.manifest = manifest
    options.isExtension = row.symbol == "-"
    let kind: ContentRequestKind = row.options.contains("periodic") ? .periodic : .install
    let host = try Workspace.host()
    do {
      let plugin = try await host.load("\(Workspace.hostile)/\(row.library)", policy: policy, options: options)
      var value: String?
      do {
        if options.isExtension {
          _ = try await plugin.contentRequest(kind)
        } else {
          let result = try await plugin.call(row.symbol, row.signature, arguments: [])
          switch result.value {
          case .signed(let number): value = "\(number)"
          case .unsigned(let number): value = "\(number)"
          default: break
          }
        }
      } catch {
        guard error.report != nil else { throw error }
      }
      let report = await plugin.end()
      return (report.outcome, value, report)
    } catch {
      let report = try #require((error as? HostError)?.report, "\(error)")
      return (report.outcome, nil, report)
    }
  }
}
