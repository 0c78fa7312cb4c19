internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import LinuxSystem
internal import ServiceClient
internal import ServiceProtocol

struct ServiceStatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows the service: process, uptime, socket, database, memory, apps.",
    discussion: """
      Starts nothing.

      EXAMPLES
        outrider service status
        outrider service status --json

      EXIT STATUS
        0   it runs
        3   it doesn't
      """)
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let report = try await ServiceReport.read(try service.place())
      if json { try Output.json(report) } else { for line in report.lines() { Output.line(line) } }
      Exit.leave(report.isRunning ? 0 : 3)
    } catch {
      Exit.with(error)
    }
  }
}

/// What there is to say of a service, also where none runs.
struct ServiceReport: Encodable {
  var isRunning: Bool
  var socket: String
  var database: String
  /// Of a service that a command started.
  var log: String
  /// The paths of systemd's units that are installed.
  var units: [String]
  /// What systemd says of the service unit; nil: there is no systemd, or no unit.
  var unitState: String?
  /// Why none answers.
  var detail: String?
  /// The service that has the state folder and listens elsewhere.
  var elsewhere: ServiceElsewhere?
  var status: StatusSummary?

  /// Starts nothing.
  static func read(_ place: ServicePlace) async throws -> Self {
    let units = (try? ServiceUnits.directory()).map(ServiceUnits.installed) ?? []
    var report = Self(
      isRunning: false, socket: place.paths.socket, database: place.paths.store, log: place.log, units: units,
      unitState: units.isEmpty ? nil : Systemctl.run("is-active", ServiceUnits.service)?.text)
    do {
      let service = try await ServiceOperator.connectRunning(place)
      report.status = try await service.status()
      report.isRunning = true
    } catch let error as ServiceConnectionError where error.isServiceAbsent {
      report.elsewhere = ServiceElsewhere.find(place)
      report.detail = report.elsewhere?.message ?? error.message
    }
    return report
  }

  func lines(now: Date = Date()) -> [String] {
    var facts: [(String, String)] = []
    if let status {
      let uptime = ServiceWords.date(status.startedAt).map { ServiceWords.duration(now.timeIntervalSince($0)) } ?? "?"
      facts = [
        ("process", "\(status.process), outriderd \(status.version)"),
        ("running for", "\(uptime), since \(ServiceWords.time(status.startedAt))"), ("socket", status.socket),
        ("database", "\(status.database), \(ServiceWords.size(status.databaseBytes))"),
        ("memory", ServiceWords.size(status.memoryBytes)),
        ("apps", "\(status.apps)"), ("downloads", "\(status.downloads)"), ("connections", "\(status.connections)"),
        ("mode", status.isDevelopment ? "development" : "as installed"),
      ]
    } else {
      facts = [("socket", socket), ("state", database)]
    }
    facts.append(
      ("units", units.isEmpty ? "none; outrider service install writes them" : units.joined(separator: ", ")))
    if let unitState { facts.append(("systemd", unitState)) }
    let absent = elsewhere?.message ?? "the service isn't running; any command that needs it starts it"
    let head = isRunning ? "the service runs" : absent
    return [head] + facts.map { "  \($0.0): \(Printable.text($0.1, limit: 1000))" }
  }
}
