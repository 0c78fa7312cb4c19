internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import LinuxSystem
internal import ServiceClient
internal import ServiceProtocol

struct LaunchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "launch", abstract: "Runs an installed app, once its essential downloads are there.",
    usage: "outrider launch <id> [--state <dir>] [-- <argument> ...]",
    discussion: """
      While the app is being installed or updated this waits and shows how far it is. Then the app takes this command's \
      place: its terminal, its signals and its exit status are the app's own.

      EXAMPLES
        outrider launch com.example.sessions
        outrider launch com.example.sessions -- --list

      EXIT STATUS
        1    refused, or removed meanwhile
        66   no such app is installed
        126  the app's program can't be run
        127  it isn't there
        130  interrupted before it ran
        otherwise the app's own
      """)

  @Argument(help: ArgumentHelp("The app's identifier.", valueName: "id"), completion: .apps) var id: String
  @Argument(parsing: .postTerminator, help: "What the app gets.") var arguments: [String] = []
  @OptionGroup var service: ServiceOptions

  func run() async {
    do {
      let place = try service.place()
      let service = try await ServiceOperator.connect(place)
      let app = try await service.app(id)
      try await waitAtGate(place, app)
      var ticket: LaunchTicket?
      while ticket == nil { ticket = try await self.ticket(place, app) }
      let connection = try Self.connection(of: id, place)
      throw Self.become(ticket!, arguments, connection)
    } catch {
      Exit.with(error)
    }
  }

  private func waitAtGate(_ place: ServicePlace, _ app: AppSummary) async throws {
    guard !InstallBoard(app).isOpen else { return }
    let progress = GateProgress(place: place, app: app, isJSON: false)
    progress.sayOnInterrupt()
    _ = try await progress.wait()
  }

  /// nil: the gate was closed again, as by an update.
  private func ticket(_ place: ServicePlace, _ app: AppSummary) async throws -> LaunchTicket? {
    let service = try await ServiceOperator.connect(place)
    let reply: Reply
    do {
      reply = try await service.ask(.launch(app: id))
    } catch let failure as ServiceFailure {
      guard let now = try await service.apps(id).first, !InstallBoard(now).isOpen else { throw failure }
      try await waitAtGate(place, now)
      return nil
    }
    guard case .launch(let ticket) = reply else { throw ServiceOperator.unexpected(reply) }
    return ticket
  }

  /// The connection that makes the process the app's, whatever program it runs. Nothing but the welcome has come on it: what
  /// the service says next is for the app to read.
  private static func connection(of app: String, _ place: ServicePlace) throws -> ServiceConnection {
    let connection = try ServiceConnection.connect(to: place.paths.socket)
    try connection.send(.request(id: 1, request: .hello(Hello(role: .operator, launches: app))))
    switch try connection.receive() {
    case .reply(_, .welcome(let welcome)): try ServiceOperator.check(welcome)
    case .failure(_, let failure): throw failure
    case nil: throw Failure(69, "the service went away before the app could be run; try again")
    case .some: throw ServiceOperator.otherVersion("to 'hello' with something else")
    }
    return connection
  }

  /// execve(2); returns only when that fails.
  private static func become(_ ticket: LaunchTicket, _ arguments: [String], _ connection: ServiceConnection)
    -> any Error
  {
    let descriptor: Int32
    do { descriptor = try connection.descriptorToInherit() } catch { return error }
    var environment = ProcessInfo.processInfo.environment.merging(ticket.environment) { $1 }
    environment[ServicePaths.connectionVariable] = "\(descriptor)"
    let failure = ProcessImage.replace([ticket.executable] + arguments, environment: environment)
    withExtendedLifetime(connection) {}
    return Failure(failure.status, "\(failure.message); reinstall \(ticket.app)")
  }
}
