internal import ArgumentParser

/// The commands that speak with the service.
enum ServiceCommands {
  static let all: [any ParsableCommand.Type] = [
    InstallCommand.self, UpdateCommand.self, InstallationCommand.self, UninstallCommand.self, AppsCommand.self,
    LaunchCommand.self, DownloadsCommand.self, RunsCommand.self, LogCommand.self, SettingsCommand.self,
    SimulateCommand.self, ServiceCommand.self,
  ]
}
