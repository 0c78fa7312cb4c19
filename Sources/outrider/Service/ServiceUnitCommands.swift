internal import ArgumentParser
internal import ServiceClient
internal import ServiceProtocol

struct ServiceInstallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Writes systemd user units, so that the service starts with the user's session.",
    discussion: """
      A socket unit, by which the first client starts the service, and a service unit, which starts it at login. The \
      units go to $XDG_CONFIG_HOME/systemd/user. A service that runs already is ended first: the units' own takes up \
      where it was.

      EXAMPLES
        outrider service install --dry-run
        outrider service install
      """)
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print the units and change nothing.") var dryRun = false

  func run() async {
    do {
      let place = try service.place()
      let units = ServiceUnits(place: place, program: try ServicePlace.program())
      let directory = try ServiceUnits.directory()
      if dryRun {
        for (name, content) in units.files { Output.line("# \(directory)/\(name)\n\(content)") }
        Exit.leave(0)
      }
      try units.write(to: directory)
      for (name, _) in units.files { Output.line("\(directory)/\(name)") }
      guard let reloaded = Systemctl.run("daemon-reload"), reloaded.status == 0 else {
        Output.note("no systemd manages this user's session now: the units count from the next login on")
        Exit.leave(0)
      }
      if let service = try? await ServiceOperator.connectRunning(place) { _ = try? await service.ask(.stop) }
      let enabled = Systemctl.run("enable", "--now", ServiceUnits.socket, ServiceUnits.service)
      guard let enabled, enabled.status == 0 else {
        throw Failure(
          69,
          "systemd doesn't start the units: \(enabled?.text ?? ""); 'systemctl --user status \(ServiceUnits.service)' tells more"
        )
      }
      Output.note("the service runs, and starts with this user's sessions")
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

struct ServiceUninstallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall", abstract: "Removes the systemd user units; apps and downloads stay.",
    discussion: """
      EXAMPLE
        outrider service uninstall
      """)

  func run() async {
    do {
      let directory = try ServiceUnits.directory()
      guard !ServiceUnits.installed(in: directory).isEmpty else {
        Output.note("no units are installed in \(directory)")
        Exit.leave(0)
      }
      _ = Systemctl.run("disable", "--now", ServiceUnits.socket, ServiceUnits.service)
      for path in try ServiceUnits.remove(from: directory) { Output.line(path) }
      _ = Systemctl.run("daemon-reload")
      Output.note("the units are removed; apps and downloads stay")
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}
