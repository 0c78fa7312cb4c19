internal import AssetModel
internal import AssetStore
internal import Dispatch
internal import Downloads
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import PluginHost
internal import ServiceMachines
public import ServiceProtocol

/// The service as a process: one for each user, with a socket in front of it.
public struct ServiceDaemon: Sendable {
  /// How one service runs.
  public struct Options: Sendable {
    /// Where it keeps what it has.
    public var paths: ServicePaths
    /// The folder that all of them lie in, where it was named; apps that are launched find the service by it.
    public var state: String?
    /// Whether plain http to this machine and private addresses are allowed, as a developer needs them.
    public var isDevelopment = false
    /// nil: for the journal under systemd, otherwise text.
    public var logFormat: ServiceLog.Format?
    /// The file that standard error is: at 16 MiB it is renamed to `FILE.1` and begun again. nil: it isn't the service's own.
    public var logFile: String?
    /// A pipe from which the starter reads one line: `ready`, or why not.
    public var readyDescriptor: Int32?
    /// A PEM file with further certificate authorities; in development mode only.
    public var authorityFile: String?
    /// A damaged database is renamed and kept; its last backup, or an empty one, takes its place.
    public var startsFresh = false
    /// Seconds without apps, clients and work after which it ends by itself; nil: never.
    public var idleSeconds: Double?

    /// Creates the options of a service in production.
    public init(paths: ServicePaths) { self.paths = paths }
  }

  private let options: Options

  /// Creates a service that doesn't run yet.
  public init(_ options: Options) { self.options = options }

  /// Runs until SIGTERM, SIGINT or a client's request, and returns the exit status (sysexits.h).
  ///
  /// - Returns: The exit status: 0 after an end that was asked for, otherwise one of sysexits.h.
  public func run() async -> Int32 {
    let handed = Handed(environment: ProcessInfo.processInfo.environment, readyDescriptor: options.readyDescriptor)
    signal(SIGPIPE, SIG_IGN)
    // A file that may not grow is an error of the write, as a full disk is.
    signal(SIGXFSZ, SIG_IGN)
    Memory.keepSmall()
    Files.raise(Int32(RLIMIT_NOFILE.rawValue))
    let format = options.logFormat ?? (handed.isUnderSystemd ? .journal : .text)
    let file = options.logFile.map { BoundedLogFile(path: $0) }
    LoggingSystem.bootstrap { _ in ServiceLog(format, file: file) }
    if let shortage = Self.shortageOfDescriptors {
      handed.tell(shortage)
      FileHandle.standardError.write(Data("outriderd: \(shortage)\n".utf8))
      return 70
    }
    let service: AssetService
    let signals: [any DispatchSourceSignal]
    do {
      // Before anything is made.
      if !handed.hasSocket { try ClientListener.checkLength(options.paths.socket) }
      service = try AssetService(configuration())
      await service.start()
      // Who can reach the service can stop it.
      signals = await Self.stopping(service) { handed.notify("STOPPING=1") }
      if let socket = handed.socket() {
        try await service.listen(on: socket, path: nil)
      } else {
        try await service.listen()
      }
    } catch {
      if case .heldBy? = error as? StoreError {
        // The client that started this one connects to the other.
        handed.tell("already running: \(Self.sentence(error))")
        FileHandle.standardError.write(Data("outriderd: \(Self.sentence(error))\n".utf8))
        return 75
      }
      let sentence = Self.sentence(error) + Self.remedy(error)
      handed.tell(sentence)
      FileHandle.standardError.write(Data("outriderd: \(sentence)\n".utf8))
      return 73
    }
    handed.tell("ready")
    handed.notify("READY=1\nSTATUS=serving \(options.paths.socket)")
    // Reading the journal took more than keeping what was in it.
    Memory.releaseUnused()
    if let seconds = options.idleSeconds { await service.stop(afterIdle: .seconds(seconds)) }
    await service.waitUntilStopped()
    for source in signals { source.cancel() }
    return 0
  }

  private func configuration() -> AssetService.Configuration {
    var configuration = AssetService.Configuration(paths: options.paths)
    configuration.isDevelopment = options.isDevelopment
    configuration.language = PreferredLanguage.read(environment: ProcessInfo.processInfo.environment)
    configuration.startsFresh = options.startsFresh
    var addresses = AddressPolicy()
    addresses.allowsLoopback = options.isDevelopment
    addresses.allowsPrivate = options.isDevelopment
    var hosts = HostRules()
    hosts.allowsAnyPort = true
    hosts.allowsPlainHTTPToLoopback = options.isDevelopment
    hosts.allowsAddressLiterals = options.isDevelopment
    configuration.transfers.transport = TransportOptions(addresses: addresses, hosts: hosts)
    configuration.transfers.transport.authorityFile = options.isDevelopment ? options.authorityFile : nil
    configuration.transfers.connectivityTimeouts = [
      .foreground: .zero, .essential: ServiceSettings.defaultEssentialWait,
    ]
    if let state = options.state { configuration.environment[ServicePaths.stateVariable] = state }
    return configuration
  }

  /// Of what the system or SQLite refused; the others have their own.
  /// A service that could run no extension isn't begun.
  private static var shortageOfDescriptors: String? {
    let needed = PluginHost.descriptorsToStart + ownDescriptors
    let free = OpenFiles.free(upTo: needed)
    guard free < needed else { return nil }
    return
      "too few open files: this process may have \(OpenFiles.limit) at once (RLIMIT_NOFILE), and with \(needed - free) more the service "
      + "could run one extension; raise the limit (ulimit -n)"
  }

  /// Its database, socket, timers and log, a download's connection and file, and a client or two.
  private static let ownDescriptors = 32

  private static func remedy(_ error: any Error) -> String {
    let call: SystemCallError?
    switch error {
    case StoreError.file(let error): call = error
    case StoreError.failing, StoreError.database: call = nil
    case let error as SystemCallError: call = error
    default: return ""
    }
    if let call, [ENOSPC, EDQUOT].contains(call.code) { return "; free some space on its volume" }
    return "; make the folder one that this user can write, or name another one with --state"
  }

  private static func sentence(_ error: any Error) -> String {
    "\(error)".split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  /// Returns when libdispatch has its handlers in place: before, a signal ends the process, and were signals ignored until
  /// then, one would be lost.
  private static func stopping(
    _ service: AssetService, _ told: @escaping @Sendable () -> Void
  ) async -> [any DispatchSourceSignal] {
    var sources: [any DispatchSourceSignal] = []
    for number in [SIGTERM, SIGINT] {
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        told()
        Task { await service.stop() }
      }
      await withCheckedContinuation { isInPlace in
        source.setRegistrationHandler { isInPlace.resume() }
        source.resume()
      }
      sources.append(source)
    }
    return sources
  }
}
