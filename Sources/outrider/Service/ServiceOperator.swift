internal import AssetModel
internal import Foundation
internal import LinuxSystem
internal import ServiceClient
internal import ServiceProtocol
internal import Synchronization

/// A command's conversation with the service.
struct ServiceOperator: Sendable {
  let session: ServiceSession
  let welcome: Welcome

  /// Connects; where nothing listens, it starts the service and says so.
  static func connect(
    _ place: ServicePlace, handlers: ServiceSession.Handlers = .init(), timeout: Duration = .seconds(30)
  ) async throws -> Self {
    let deadline = ContinuousClock.now + timeout
    var nextStart = ContinuousClock.now
    var holder: String?
    while true {
      do {
        return try await connectRunning(place, handlers: handlers)
      } catch let error as ServiceConnectionError where error.isServiceAbsent {
        guard ContinuousClock.now < deadline else { throw holder.map { Failure(75, $0) } ?? error }
      } catch let failure as ServiceFailure where failure.isEndOfConnection {
        // A service that is about to end still accepts.
        guard ContinuousClock.now < deadline else { throw failure }
        try await Task.sleep(for: .milliseconds(20))
        continue
      }
      if ContinuousClock.now >= nextStart {
        switch try ServiceStarter(place).start() {
        case .ready(let process):
          let who = process.map { " (process \($0))" } ?? ""
          Output.note("started the service\(who); outrider service status tells of it")
        case .alreadyRunning(let how):
          if let elsewhere = ServiceElsewhere.find(place) { throw Failure(69, elsewhere.message) }
          holder = "no service answers at \(place.paths.socket), but one is \(how)"
        }
        nextStart = .now + .milliseconds(500)
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Connects to a service that runs.
  ///
  /// - Throws: `ServiceConnectionError` where none does.
  static func connectRunning(
    _ place: ServicePlace, handlers: ServiceSession.Handlers = .init(), within greeting: Duration = greetingLimit
  ) async throws -> Self {
    let connection = try ServiceConnection.connect(to: place.paths.socket)
    let listener = connection.listener
    let session = try ServiceSession(connection, handlers: handlers)
    let reply = try await greet(session, listener, within: greeting)
    guard case .welcome(let welcome) = reply else { throw ServiceOperator.unexpected(reply) }
    try check(welcome)
    return Self(session: session, welcome: welcome)
  }

  /// Says hello. A service that is stopped, or hangs, takes connections all the same.
  private static func greet(
    _ session: ServiceSession, _ listener: Int32, within greeting: Duration
  ) async throws -> Reply {
    let isLate = Atomic(false)
    let limit = Task {
      try await Task.sleep(for: greeting)
      isLate.store(true, ordering: .releasing)
      session.close()
    }
    defer { limit.cancel() }
    do { return try await session.request(.hello(Hello(role: .operator))) } catch {
      guard isLate.load(ordering: .acquiring) else { throw error }
      throw silent(listener, greeting)
    }
  }

  private static func silent(_ listener: Int32, _ greeting: Duration) -> Failure {
    let name = (try? Files.text(of: "/proc/\(listener)/comm"))?.trimmingCharacters(in: .newlines)
    let remedy =
      name == ServicePlace.programName
      ? "'kill -CONT \(listener)' lets a stopped one go on, and after 'kill -KILL \(listener)' the next command starts its own"
      : "'systemctl --user restart \(ServiceUnits.service)' starts it anew where systemd has it"
    return Failure(
      69,
      "the service hasn't answered within \(greeting.components.seconds) s: it is stopped, or hangs; \(remedy)")
  }

  /// It answers at once, whatever it is at.
  private static let greetingLimit = Duration.seconds(10)

  static func check(_ welcome: Welcome) throws {
    guard welcome.version == Hello.currentVersion else {
      throw Failure(
        76,
        "the service (process \(welcome.process)) speaks version \(welcome.version) of the protocol, and this program "
          + "\(Hello.currentVersion); end it with 'outrider service stop', and the next command starts its own")
    }
  }

  func ask(_ request: ClientRequest) async throws -> Reply { try await session.request(request) }

  /// EX_PROTOCOL of sysexits.h.
  static func unexpected(_ reply: Reply) -> Failure {
    otherVersion("with '\("\(reply)".prefix { $0 != "(" })', which isn't what was asked for")
  }

  static var noAnswer: Failure { otherVersion("with nothing") }

  static func otherVersion(_ answer: String) -> Failure {
    Failure(
      76,
      "the service answered \(answer): it may be of another version; 'outrider service stop' ends it, and the next command starts its own"
    )
  }

  // MARK: Lists

  func apps(_ app: String?) async throws -> [AppSummary] {
    let reply = try await ask(.apps(app: app))
    guard case .apps(let apps) = reply else { throw Self.unexpected(reply) }
    return apps
  }

  /// - Throws: With EX_NOINPUT of sysexits.h for an app that isn't installed.
  func app(_ id: String) async throws -> AppSummary {
    guard let app = try await apps(id).first else {
      throw Failure(66, "no app \(Printable.text(id)) is installed; outrider apps lists those that are")
    }
    return app
  }

  /// Runs and lines are kept of apps that have gone. Where there are none, a misspelt name would look like an app that has none: the
  /// service refuses to list an app that isn't there.
  func expect(_ app: String?, toHave list: some Collection) async throws {
    if let app, list.isEmpty { _ = try await self.app(app) }
  }

  func downloads(_ app: String?) async throws -> [DownloadSummary] {
    let reply = try await ask(.downloads(app: app))
    guard case .downloadList(let downloads) = reply else { throw Self.unexpected(reply) }
    return downloads
  }

  func runs(_ app: String?, limit: Int) async throws -> [RunSummary] {
    let reply = try await ask(.runs(app: app, limit: limit))
    guard case .runs(let runs) = reply else { throw Self.unexpected(reply) }
    return runs
  }

  func log(_ app: String?, limit: Int) async throws -> [LogLine] {
    let reply = try await ask(.log(app: app, limit: limit))
    guard case .log(let lines) = reply else { throw Self.unexpected(reply) }
    return lines
  }

  func status() async throws -> StatusSummary {
    let reply = try await ask(.status)
    guard case .status(let status) = reply else { throw Self.unexpected(reply) }
    return status
  }

  /// - Parameter app: One that they are read for. They may have been set before it is installed; of another, a name may be misspelt.
  func settings(readFor app: String? = nil) async throws -> SettingsSummary {
    let reply = try await ask(.settings)
    guard case .settings(let settings) = reply else { throw Self.unexpected(reply) }
    if let app, settings.apps[app] == nil { _ = try await self.app(app) }
    return settings
  }
}

extension ServiceFailure {
  /// The connection ended before the answer came.
  var isEndOfConnection: Bool { domain == Self.frameworkDomain && code == 56 }

  /// The service's own refusals say their status. EX_UNAVAILABLE of sysexits.h where it went away.
  var exitStatus: Int32 {
    if isEndOfConnection { return 69 }
    return domain == Self.commandDomain && (1...255).contains(code) ? Int32(code) : 1
  }
}
