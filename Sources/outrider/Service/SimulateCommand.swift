internal import ArgumentParser

struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Raises an event of an installed app, or runs the service's decisions in a simulated world.",
    discussion: """
      EXAMPLES
        outrider simulate app-install com.example.sessions
        outrider simulate app-periodic com.example.sessions --json
        outrider simulate days 90 --apps 20 --seed 7
        outrider simulate fleet --machines 100000 --svg fleet.svg
      """,
    subcommands: SimulationTarget.commands + [SimulateDaysCommand.self, SimulateFleetCommand.self])
}
