internal import ArgumentParser

struct SimulateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Runs the service's decisions in a simulated world: one machine over months, or a fleet over days.",
    subcommands: [SimulateDaysCommand.self, SimulateFleetCommand.self])
}
