internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import ServiceProtocol

struct AppsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apps", abstract: "Lists the installed apps, or says everything about one.",
    discussion: """
      EXAMPLES
        outrider apps
        outrider apps com.example.sessions
        outrider apps --json

      EXIT STATUS
        66   no such app is installed
      """)

  @Argument(help: ArgumentHelp("An app's identifier.", valueName: "id"), completion: .apps) var id: String?
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print a JSON array on standard output.") var json = false

  func run() async {
    do {
      let service = try await ServiceOperator.connect(try service.place())
      let apps = if let id { [try await service.app(id)] } else { try await service.apps(nil) }
      if json {
        try Output.json(apps)
      } else if id != nil {
        for app in apps { for line in AppText.lines(app) { Output.line(line) } }
      } else if apps.isEmpty {
        Output.note("no app is installed; outrider install APP installs one")
      } else {
        AppText.table(apps).print()
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

/// Apps, for people.
enum AppText {
  static func table(_ apps: [AppSummary]) -> FittedTable {
    var table = FittedTable([
      .text("IDENTIFIER", minimum: 12), .text("VERSION", minimum: 5), .text("NAME"), .fixed("STATE"), .number("DONE"),
      .text("GATE", minimum: 10), .fixed("NEXT WAKE"), .text("REFUSED", minimum: 10),
    ])
    for app in apps {
      table.add([
        app.identifier, app.version, app.name, ServiceWords.state(app),
        "\(ServiceWords.percent(app.progress.fraction)) %", app.gate.isClosed ? "closed: \(app.gate.reason)" : "open",
        ServiceWords.relative(app.nextPeriodicWake),
        app.quarantine.map { "quarantined until \(ServiceWords.time($0.until))" } ?? app.lastRefusal?.reason ?? "",
      ])
    }
    return table
  }

  static func lines(_ app: AppSummary) -> [String] {
    let progress = app.progress
    var facts: [(String, String)] = [
      ("name", app.name), ("version", app.version), ("state", ServiceWords.state(app)),
      ("gate", "\(app.gate.isClosed ? "closed" : "open"): \(app.gate.reason)"),
      (
        "progress",
        "\(ServiceWords.percent(progress.fraction)) %, "
          + ServiceWords.progress(progress.receivedBytes, of: progress.expectedBytes)
      ),
    ]
    if app.restrictions.isActive {
      func used(_ allowance: AppSummary.Allowance) -> String {
        ServiceWords.progress(allowance.used, of: allowance.limit)
      }
      facts.append(
        (
          "until first launch",
          "\(used(app.restrictions.allowance)), essential \(used(app.restrictions.essentialAllowance))"
        ))
    }
    let runtime = app.runtime
    let renews = runtime.renewsAt.map { ", renews \(ServiceWords.relative($0))" } ?? ""
    facts.append(
      (
        "runtime today",
        String(format: "%.1f s of %.0f s", runtime.usedSeconds, runtime.budgetSeconds) + renews
      ))
    if let wake = app.nextPeriodicWake { facts.append(("next wake", ServiceWords.relative(wake))) }
    if let refusal = app.lastRefusal {
      let until = refusal.until.map { ", until \(ServiceWords.time($0))" } ?? ""
      facts.append(("last refusal", refusal.reason + until))
    }
    if let quarantine = app.quarantine {
      facts.append(
        (
          "quarantine",
          "\(quarantine.reason), \(quarantine.failures) times, until \(ServiceWords.time(quarantine.until))"
        ))
    }
    facts += app.groups.sorted { $0.key < $1.key }.map { ("group \($0.key)", $0.value) }
    facts.append(("bundle", app.path))
    return [Printable.text(app.identifier)]
      + facts.map { "  \(Printable.text($0.0)): \(Printable.text($0.1, limit: 1000))" }
  }
}
