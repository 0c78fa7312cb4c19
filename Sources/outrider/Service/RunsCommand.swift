internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import ServiceProtocol

struct RunsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "runs", abstract: "Lists the runs of extensions: how each ended, what it used, what was rejected.",
    usage: "outrider runs [<options>] [<id>]",
    discussion: """
      The newest is the last.

      EXAMPLES
        outrider runs
        outrider runs com.example.sessions --limit 5
        outrider runs com.example.sessions --json

      EXIT STATUS
        66   no such app is installed, and none of its runs is kept
      """)

  @Argument(help: ArgumentHelp("An app's identifier; otherwise those of all apps.", valueName: "id"), completion: .apps)
  var id: String?
  @OptionGroup var service: ServiceOptions
  @Option(help: "The newest so many.") var limit = 20
  @Flag(help: "Print a JSON array on standard output.") var json = false

  func validate() throws {
    guard (1...100_000).contains(limit) else { throw ValidationError("--limit \(limit): give 1 to 100000.") }
  }

  func run() async {
    do {
      let service = try await ServiceOperator.connect(try service.place())
      let runs = try await service.runs(id, limit: limit)
      try await service.expect(id, toHave: runs)
      if json {
        try Output.json(runs)
      } else if runs.isEmpty {
        Output.note("no extension has run yet; outrider explain ID says what an app waits for")
      } else {
        RunText.table(runs).print()
        // What a table has no room for, of the one that the user asked for or that is news.
        if let last = runs.last { for line in RunText.details(last) { Output.line(line) } }
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

/// Runs, for people.
enum RunText {
  static func table(_ runs: [RunSummary]) -> FittedTable {
    var table = FittedTable([
      .number("RUN"), .text("APP", minimum: 8), .fixed("REQUEST"), .fixed("STARTED"), .text("OUTCOME", minimum: 8),
      .number("WALL"), .number("CPU"), .number("MEMORY"), .number("ACCEPTED"), .number("REJECTED"),
    ])
    for run in runs {
      let rejected = run.downloads.rejected.count + (run.downloads.furtherRejected ?? 0)
      table.add([
        "\(run.id)", run.app, run.request, ServiceWords.time(run.startedAt), run.outcome.kind,
        seconds(run.usage.wallSeconds), seconds(run.usage.cpuSeconds), ServiceWords.size(run.usage.peakMemoryBytes),
        "\(run.downloads.accepted)", rejected == 0 ? "" : "\(rejected)",
      ])
    }
    return table
  }

  private static func seconds(_ value: Double) -> String {
    value < 1 ? String(format: "%.1f ms", value * 1e3) : String(format: "%.2f s", value)
  }

  /// A hostile extension has as many rejections and lines as it may.
  private static let maxShown = 20

  static func details(_ run: RunSummary) -> [String] {
    var lines: [String] = []
    if !run.outcome.detail.isEmpty { lines.append(Printable.text(run.outcome.detail, limit: 1000)) }
    lines += cut(run.downloads.rejected, "rejections") {
      "rejected \(Printable.text($0.identifier, limit: 60)): \($0.code), \(Printable.text($0.reason))"
    }
    if let further = run.downloads.furtherRejected {
      lines.append("rejected \(further) more, of which nothing is kept")
    }
    lines += cut(run.denials, "denied calls") {
      "denied: \(Printable.text($0.call))" + ($0.times > 1 ? " × \($0.times)" : "")
    }
    lines += cut(run.log, "lines of log") { "log: \(Printable.text($0, limit: 400))" }
    return lines.isEmpty ? [] : ["run \(run.id):"] + lines.map { "  \($0)" }
  }

  private static func cut<Element>(_ all: [Element], _ name: String, _ text: (Element) -> String) -> [String] {
    all.prefix(maxShown).map(text)
      + (all.count > maxShown ? ["… and \(all.count - maxShown) other \(name) (--json has all)"] : [])
  }
}
