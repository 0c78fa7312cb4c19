internal import ArgumentParser
internal import Basics
internal import Foundation
internal import LinuxSystem
internal import ServiceProtocol

/// Which service a command means.
struct ServiceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The folder that has everything of the service (default: OUTRIDER_STATE, or the folders of XDG).",
      valueName: "dir"), completion: .directory)
  var state: String?
  @Flag(help: "A service that this command starts runs in development mode (as with OUTRIDER_DEVELOPMENT=1).")
  var development = false

  func validate() throws {
    if state?.isEmpty == true { throw ValidationError("--state names no folder.") }
  }

  func place() throws -> ServicePlace { try ServicePlace(state: state, isDevelopment: development) }
}

/// Where one service has its folders, and what starts it there.
struct ServicePlace: Sendable {
  var paths: ServicePaths
  /// As `--state` chose it, absolute.
  var state: String?
  var isDevelopment: Bool
  /// Nothing says where a service's folders are. One that runs may be reached all the same.
  var lacksHome: Bool

  init(
    state: String?, isDevelopment: Bool = false, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    self.state = try state.map { try FetchPath.absolute($0, "--state \($0)") }
    paths =
      self.state.map { ServicePaths(state: $0) }
      ?? ServicePaths(environment: environment, user: geteuid(), accountHome: Account.home(of: geteuid()))
    self.isDevelopment = Self.isDevelopment(isDevelopment, environment)
    lacksHome = self.state == nil && Self.lacksHome(environment, accountHome: Account.home(of: geteuid()))
  }

  static func lacksHome(_ environment: [String: String], accountHome: @autoclosure () -> String?) -> Bool {
    func isNamed(_ variable: String) -> Bool { environment[variable]?.isAbsolutePath == true }
    if isNamed(ServicePaths.stateVariable) || isNamed("HOME") { return false }
    if isNamed("XDG_STATE_HOME"), isNamed("XDG_DATA_HOME") { return false }
    return accountHome() == nil
  }

  /// Whether `--development` is given, or its variable says the same.
  static func isDevelopment(
    _ isGiven: Bool, _ environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Bool {
    isGiven || !["", "0"].contains(environment[developmentVariable] ?? "")
  }

  static let developmentVariable = "OUTRIDER_DEVELOPMENT"
  /// Names the service's program, where it doesn't lie beside this one.
  static let programVariable = "OUTRIDER_SERVICE"

  /// What a service that a command started says; one of systemd's goes to the journal.
  var log: String { "\(paths.store)/service.log" }

  var arguments: [String] { (state.map { ["--state", $0] } ?? []) + (isDevelopment ? ["--development"] : []) }

  static let programName = "outriderd"

  /// The service's program.
  static func program(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> String {
    let chosen = environment[programVariable].flatMap { $0.isEmpty ? nil : $0 }
    let path: String
    if let chosen {
      path = try FetchPath.absolute(chosen, programVariable)
    } else {
      let own = try Files.real("/proc/self/exe")
      path = (own.parentFolder ?? "") + "/\(programName)"
    }
    guard access(path, X_OK) == 0 else {
      let why = SystemCallError.message(errno)
      throw Failure(
        69,
        "the service can't be started: \(path): \(why); put outriderd beside outrider, or name it in \(programVariable)"
      )
    }
    return path
  }
}
