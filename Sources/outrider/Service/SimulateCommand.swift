internal import ArgumentParser

struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate", abstract: "Wakes an extension as the system would.",
    discussion: """
      EXAMPLES
        outrider simulate app-install com.example.sessions
        outrider simulate app-periodic com.example.sessions --json
      """,
    subcommands: SimulationTarget.commands)
}
