internal import ArgumentParser
internal import AssetModel
internal import ServiceClient
internal import ServiceProtocol

/// `outrider simulate app-…`: an extension is woken now, as the system would.
struct SimulationTarget: ParsableArguments {
  @Argument(help: ArgumentHelp("The app's identifier.", valueName: "id"), completion: .apps) var id: String
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run(_ request: ServiceProtocol.RequestName) async -> Never {
    do {
      let (ended, ends) = AsyncStream.makeStream(of: RunSummary.self)
      let handlers = ServiceSession.Handlers(
        onMessage: { message in
          guard case .event(.run(let run)) = message, run.outcome.kind != "running" else { return }
          ends.yield(run)
        }, onClose: { _ in ends.finish() })
      let service = try await ServiceOperator.connect(try service.place(), handlers: handlers)
      // First, so that a short run isn't missed.
      _ = try await service.ask(.watch(app: id))
      let run = try await run(of: request, service, ended)
      let app = try await service.app(id)
      if json {
        try Output.json(AppReport(app: app, run: run))
      } else {
        RunText.table([run]).print()
        for line in RunText.details(run) { Output.line(line) }
      }
      Exit.leave(run.outcome.kind == "returned" ? 0 : 1)
    } catch {
      Exit.with(error)
    }
  }

  private func run(
    of request: ServiceProtocol.RequestName, _ service: ServiceOperator, _ ended: AsyncStream<RunSummary>
  ) async throws -> RunSummary {
    switch try await service.ask(.simulate(request: request, app: id)) {
    case .runs(let runs):
      if let run = runs.last { return run }
    case .apps, .done:
      for await run in ended where run.app == id && run.request == request.rawValue { return run }
    case let reply: throw ServiceOperator.unexpected(reply)
    }
    throw Failure(1, "the service went away before the extension had ended; outrider runs \(id) tells more")
  }

  static func configuration(_ name: String, _ abstract: String) -> CommandConfiguration {
    CommandConfiguration(
      commandName: name, abstract: abstract, usage: "outrider simulate \(name) [<options>] <id>",
      discussion: """
        The extension's run time of the day begins anew. Exit status 1 when the extension doesn't return.

        EXAMPLES
          outrider simulate \(name) com.example.sessions
          outrider simulate \(name) com.example.sessions --json
        """)
  }

  /// For the command `simulate`.
  static let commands: [any ParsableCommand.Type] = [
    SimulateAppInstallCommand.self, SimulateAppUpdateCommand.self, SimulateAppPeriodicCommand.self,
    SimulateLanguageChangeCommand.self,
  ]
}

struct SimulateAppInstallCommand: AsyncParsableCommand {
  static let configuration = SimulationTarget.configuration(
    "app-install", "Wakes an app's extension as if the app had just been installed.")
  @OptionGroup var target: SimulationTarget
  func run() async { await target.run(.install) }
}

struct SimulateAppUpdateCommand: AsyncParsableCommand {
  static let configuration = SimulationTarget.configuration(
    "app-update", "Wakes an app's extension as if the app had just been updated.")
  @OptionGroup var target: SimulationTarget
  func run() async { await target.run(.update) }
}

struct SimulateAppPeriodicCommand: AsyncParsableCommand {
  static let configuration = SimulationTarget.configuration(
    "app-periodic", "Wakes an app's extension as the periodic check does.")
  @OptionGroup var target: SimulationTarget
  func run() async { await target.run(.periodic) }
}

struct SimulateLanguageChangeCommand: AsyncParsableCommand {
  static let configuration = SimulationTarget.configuration(
    "app-language-change", "Wakes an app's extension as after a change of the language.")
  @OptionGroup var target: SimulationTarget
  func run() async { await target.run(.languageChange) }
}
