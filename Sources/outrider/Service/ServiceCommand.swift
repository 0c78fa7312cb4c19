internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import LinuxSystem
internal import ServiceClient
internal import ServiceProtocol

struct ServiceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "service", abstract: "Sets the service up, shows it, stops it.",
    discussion: """
      Every command that needs the service starts it. Units of systemd start it at login instead, so that periodic \
      wakes happen without a command.

      EXAMPLES
        outrider service status
        outrider service install --dry-run
        outrider service log --follow
        outrider service run --state /tmp/try --development
      """,
    subcommands: [
      ServiceStatusCommand.self, ServiceRunCommand.self, ServiceStopCommand.self, ServiceLogCommand.self,
      ServiceInstallCommand.self, ServiceUninstallCommand.self, ServiceDetachCommand.self,
    ], defaultSubcommand: ServiceStatusCommand.self)
}

struct ServiceRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Runs the service in the foreground, until it is interrupted.",
    usage: "outrider service run [<options>]",
    discussion: """
      This command becomes outriderd: its log goes to standard error.

      EXAMPLES
        outrider service run
        outrider service run --state /tmp/try --development --log-format json
      """)
  enum Format: String, CaseIterable, ExpressibleByArgument { case text, json }

  @OptionGroup var service: ServiceOptions
  @Option(help: "The log's lines: text or json.") var logFormat = Format.text
  @Option(help: ArgumentHelp("End after so many seconds without a client, an app or work.", valueName: "seconds"))
  var idleExit: Int?
  @Flag(help: "Put a damaged database aside; its last backup, or an empty one, takes its place.") var startFresh = false

  func run() async {
    do {
      let place = try service.place()
      let program = try ServicePlace.program()
      var words = [program] + place.arguments + ["--log-format", logFormat.rawValue]
      if let idleExit { words += ["--idle-exit", "\(idleExit)"] }
      if startFresh { words.append("--start-fresh") }
      var environment = ProcessInfo.processInfo.environment
      environment[ServicePaths.connectionVariable] = nil
      throw ProcessImage.replace(words, environment: environment)
    } catch {
      Exit.with(error)
    }
  }
}

/// Makes another program of this process.
enum ProcessImage {
  /// execve(2) of `words`, the first of which is the program's path; returns only when that fails.
  static func replace(_ words: [String], environment: [String: String]) -> Failure {
    // The threads of libdispatch block signals, and what is blocked stays so.
    var none = sigset_t()
    sigemptyset(&none)
    fflush(nil)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    CStrings.with(words) { texts in
      CStrings.with(environment.map { "\($0)=\($1)" }) { _ = execve(words[0], texts, $0) }
    }
    let code = errno
    return Failure(code == ENOENT ? 127 : 126, "\(words[0]) can't be run: \(SystemCallError.message(code))")
  }
}

struct ServiceStopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Ends the service; downloads and deliveries go on with its next start.",
    discussion: """
      Returns when it has ended. Where none runs, it says so; that is no failure.

      EXAMPLE
        outrider service stop
      """)
  @OptionGroup var service: ServiceOptions

  func run() async {
    do {
      let (closed, end) = AsyncStream.makeStream(of: Void.self)
      let handlers = ServiceSession.Handlers(onClose: { _ in end.finish() })
      let service: ServiceOperator
      do {
        service = try await ServiceOperator.connectRunning(try self.service.place(), handlers: handlers)
      } catch let error as ServiceConnectionError where error.isServiceAbsent {
        let elsewhere = ServiceElsewhere.find(try self.service.place())
        Output.note(elsewhere?.message ?? "the service isn't running")
        Exit.leave(elsewhere == nil ? 0 : 69)
      }
      do {
        _ = try await service.ask(.stop)
      } catch let failure as ServiceFailure where failure.isEndOfConnection {
        // It ended before its answer was out.
      }
      for await _ in closed {}
      // Its lock is free when it has gone.
      guard Processes.hasEnded(service.welcome.process, within: 30) else {
        throw Failure(
          75,
          "the service (process \(service.welcome.process)) took the command and is still there after 30 s; its log says what it is at"
        )
      }
      Output.note("the service (process \(service.welcome.process)) is stopped")
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

/// Of this program alone: `ServiceStarter` says why.
struct ServiceDetachCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "detach", abstract: "Starts a program apart from this one's session.", shouldDisplay: false)
  @Option var log: String
  @Argument(parsing: .postTerminator) var words: [String] = []

  func run() async {
    let line: String
    DetachedProcess.forgetSurroundings()
    do {
      let pid = try DetachedProcess.spawn(
        words, environment: ProcessInfo.processInfo.environment, channel: DetachedProcess.channel, log: log)
      line = ServiceStartLine.started(pid)
    } catch {
      line = error.description
    }
    Output.draw("\(line)\n", to: DetachedProcess.channel)
    Exit.leave(0)
  }
}
