internal import ArgumentParser
internal import AssetService
internal import Basics
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import ServiceProtocol

/// The service that `outrider` starts when it needs one.
@main
struct OutriderDaemon: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outriderd",
    abstract: "Serves apps and their extensions: installs, wakes, downloads, delivers.",
    discussion: """
      Commands of outrider start it when they need it; 'outrider service install' has systemd do so. It ends on SIGTERM and \
      on SIGINT, at a checkpoint: nothing is lost.

      EXAMPLES
        outriderd --state /tmp/try --development
        OUTRIDER_DEVELOPMENT=1 outriderd --log-format json

      ENVIRONMENT
        OUTRIDER_STATE        as --state
        OUTRIDER_DEVELOPMENT  as --development, unless it is 0 or empty
        OUTRIDER_AUTHORITY    as --authority
        OUTRIDER_RUNNER       the program that runs extensions

      FILES
        $XDG_RUNTIME_DIR/outrider/     the socket (or /tmp/outrider-service-UID/)
        $XDG_STATE_HOME/outrider/      the journal (or ~/.local/state/outrider/)
        $XDG_DATA_HOME/outrider/       apps and groups (or ~/.local/share/outrider/)
      """,
    version: ProductVersion.text)

  @Option(help: "Everything that it keeps lies below this folder.", completion: .directory) var state: String?
  @Flag(help: "Allow plain http to this machine, and private addresses; every list says so.") var development = false
  @Option(help: "How it logs: text, json or journal.", completion: .list(["text", "json", "journal"])) var logFormat:
    String?
  @Option(
    help: "The file that its standard error is: at 16 MiB it is renamed to FILE.1 and begun anew.", completion: .file())
  var logFile: String?
  @Option(help: "A descriptor on which it says 'ready', or why it can't start.") var readyFd: Int32?
  @Option(help: "With --development, a PEM file with a certificate authority to trust.", completion: .file())
  var authority: String?
  @Flag(help: "Put a damaged database aside; its last backup, or an empty one, takes its place.") var startFresh = false
  @Option(help: "End after so many seconds without a client, an app or work.") var idleExit: Double?

  static func main() async {
    if let lack = ProcessFiles.lack ?? StackLimit.lack {
      let line = "outriderd: \(lack)\n"
      _ = write(STDERR_FILENO, line, line.utf8.count)
      ProgramEnd.leave(70)
    }
    if let unreadable = Arguments.unreadable {
      exit(withError: ValidationError("\(unreadable); names of files and folders have to be UTF-8"))
    }
    HelpColumns.widen()
    Files.keepOwnersRights()
    await main(Arguments.words)
  }

  mutating func validate() throws {
    if let logFormat, ServiceLog.Format(rawValue: logFormat) == nil {
      throw ValidationError("--log-format is text, json or journal, not \(logFormat)")
    }
  }

  func run() async throws {
    var environment = ProcessInfo.processInfo.environment
    if let state { environment[ServicePaths.stateVariable] = URL(fileURLWithPath: state).path }
    var options = ServiceDaemon.Options(
      paths: ServicePaths(environment: environment, user: geteuid(), accountHome: Account.home(of: geteuid())))
    options.state = environment[ServicePaths.stateVariable]
    options.isDevelopment = development || !["", "0"].contains(environment["OUTRIDER_DEVELOPMENT"] ?? "")
    options.logFormat = logFormat.flatMap(ServiceLog.Format.init)
    options.readyDescriptor = readyFd
    options.logFile = logFile
    options.authorityFile = authority ?? environment["OUTRIDER_AUTHORITY"]
    options.idleSeconds = idleExit
    options.startsFresh = startFresh
    ProgramEnd.leave(await ServiceDaemon(options).run())
  }
}
