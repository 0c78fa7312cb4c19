internal import ArgumentParser
internal import AssetModel
internal import AssetStore
internal import Basics
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox
internal import ServiceClient
internal import ServiceProtocol
internal import Synchronization

/// The options of every command that starts a runner.
struct SandboxOptions: ParsableArguments {
  @Option(
    help: "A directory that the plugin may write; without it an empty one that is removed afterwards.",
    completion: .directory)
  var container: String?

  /// What a container of every user's means. The owner of such a folder, or root, may have it for one all the same.
  func warnOfContainer() {
    guard let container, PolicyPath.isOpenToAll(container) else { return }
    Output.note(
      "--container: \(Printable.text(container)) is every user's: the plugin may change what others keep there, and the folder is marked as plugins' for good, so that no link in it is followed; name a folder of its own"
    )
  }
  @Option(
    help: ArgumentHelp(
      "What the plugin may do: a YAML file, or a shipped policy by name (downloader, computation, codec, interpreter, developer); the options below override its limits.",
      valueName: "policy"), completion: .file(extensions: ["yaml", "yml"]))
  var policy: String?
  @Option(
    help: ArgumentHelp(
      "A variable for the plugin: NAME=VALUE, or NAME for the value that it has here; may be repeated.",
      valueName: "name=value"))
  var env: [String] = []
  @Flag(help: "Also record the paths that the plugin named and wasn't granted.")
  var observe = false
  @Option(help: "Wall time of one call, for example 300ms (default: 30s).")
  var wall: String?
  @Option(help: "CPU time of one call, all threads (default: 10s).")
  var cpu: String?
  @Option(help: "Memory beyond the runner's own, for example 16MiB (default: 8MiB).")
  var memory: String?
  @Flag(help: "A fresh process for each load, for plugins that bring another runtime.")
  var cold = false
  @Flag(help: "Print one JSON object on standard output.")
  var json = false

  /// The first of those that say under what a plugin runs, if one was given.
  var ofRun: String? {
    let given = [
      (container != nil, "--container"), (policy != nil, "--policy"), (!env.isEmpty, "--env"), (observe, "--observe"),
      (wall != nil, "--wall"), (cpu != nil, "--cpu"), (memory != nil, "--memory"),
    ]
    return given.first { $0.0 }?.1
  }

  func makePolicy() throws -> Policy {
    var result = try policy.map(PolicyInput.policy) ?? Policy()
    for text in env {
      let variable = PolicyVariable(text)
      if let rejectionReason = variable.rejectionReason { throw Failure(64, "--env: \(rejectionReason)") }
      result.environment.removeAll { $0.name == variable.name }
      result.environment.append(variable)
    }
    if let wall { result.limits.wallTime = try Self.duration(wall, "--wall") }
    if let cpu { result.limits.cpu = try Self.duration(cpu, "--cpu") }
    if let memory {
      guard let bytes = Quantity.bytes(memory) else {
        throw Failure(64, "--memory '\(memory)' isn't a size in B, KiB, MiB or GiB, for example 8MiB")
      }
      result.limits.memory = bytes
    }
    if observe { result.observesFiles = true }
    return result
  }

  private static func duration(_ text: String, _ option: String) throws -> Duration {
    guard let value = Quantity.duration(text) else {
      throw Failure(64, "\(option) '\(text)' isn't a time of up to 28 years in ms, s, m or h, for example 300ms")
    }
    return value
  }

  /// A host that an interrupt from the keyboard takes down with everything that it runs. `cleanUp`: what is to be removed
  /// then besides.
  func makeHost(cleanUp: @escaping @Sendable () -> Void = Interrupts.sayInterrupted) throws -> PluginHost {
    try Self.makeHost(isCold: cold, cleanUp: cleanUp)
  }

  static func makeHost(
    isCold: Bool = false, cleanUp: @escaping @Sendable () -> Void = Interrupts.sayInterrupted
  ) throws -> PluginHost {
    try makeHosts(1, isCold: isCold, cleanUp: cleanUp)[0]
  }

  static func makeHosts(
    _ count: Int, isCold: Bool = false, withoutNamespaces: Set<Wall> = [],
    cleanUp: @escaping @Sendable () -> Void = Interrupts.sayInterrupted
  ) throws -> [PluginHost] {
    let descriptors = PluginHost.descriptorsToStart * count
    guard Descriptors.canOpen(descriptors) else {
      Exit.leave(70, "this user may not open the \(descriptors) files at once that a plugin takes (ulimit -n)")
    }
    var configuration = PluginHost.Configuration()
    configuration.isCold = isCold
    configuration.withoutNamespaces = withoutNamespaces
    var hosts: [PluginHost] = []
    for _ in 0..<count { hosts.append(try PluginHost(configuration: configuration)) }
    Interrupts.onInterrupt { [hosts] in
      Interrupts.endRunning()
      for host in hosts { host.stop() }
      cleanUp()
    }
    return hosts
  }
}

/// Files that the command line names.
enum InputFile {
  static func tooLong(_ path: String, limit: Int) -> Failure {
    Failure(64, "\(Printable.text(path)): has more than \(limit >> 20) MiB, and no more than that is read")
  }

  /// Why a file can't be read; nil where it can be opened and is no folder.
  static func problem(_ path: String) -> String? {
    do throws(SystemCallError) {
      _ = try OwnedDescriptor.open(path, O_RDONLY | O_NONBLOCK)
    } catch {
      return SystemCallError.message(error.code)
    }
    return Files.isFolder(path) == true ? SystemCallError.message(EISDIR) : nil
  }

  /// A pipe will do; what is longer than `limit` isn't read to its end.
  static func content(of path: String, limit: Int) throws -> [UInt8] {
    do throws(SystemCallError) {
      return try Files.content(of: path, limit: limit)
    } catch {
      switch error.code {
      case EFBIG: throw tooLong(path, limit: limit)
      // open(2): a FIFO without a writer.
      case ENXIO: throw Failure(66, "\(path): is a pipe that no process writes to")
      case let code: throw Failure(66, "\(path): \(SystemCallError.message(code))")
      }
    }
  }
}

/// A sentence for standard error and an exit status.
struct Failure: Error {
  let status: Int32
  let message: String

  init(_ status: Int32, _ message: String) {
    self.status = status
    self.message = message
  }
}

enum Interrupts {
  /// Runs `cleanUp` on SIGINT, SIGTERM or SIGHUP, then exits as a shell expects. What the parent ignored stays so, here and below:
  /// nohup(1) and scripts that start something beside them mean it.
  ///
  /// A command that goes on to its next step names another: that takes the place of the one before, whose work is done.
  static func onInterrupt(_ cleanUp: @escaping @Sendable () -> Void) {
    let isListening = Self.cleanUp.withLock { current in
      defer { current = cleanUp }
      return current != nil
    }
    guard !isListening else { return }
    for (number, status) in [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)]
    where !isIgnored(number) {
      listen(to: number) {
        interrupted.store(status, ordering: .relaxed)
        Self.cleanUp.withLock { $0 }?()
        ProgramEnd.leave(status)
      }
    }
  }

  /// Runs `body` at every SIGINT, SIGTERM and SIGHUP; the command goes on and ends by itself.
  static func onSignal(_ body: @escaping @Sendable (Int32) -> Void) {
    for number in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(number) {
      listen(to: number) { body(number) }
    }
  }

  /// Runs `body` whenever the terminal has got another size.
  static func onWindowChange(_ body: @escaping @Sendable () -> Void) {
    listen(to: SIGWINCH, body)
  }

  /// Waits until libdispatch has its handler in place: before, the signal would end the process, and were it ignored until
  /// then, a busy machine would lose it.
  private static func listen(to number: Int32, _ body: @escaping @Sendable () -> Void) {
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    let isListening = DispatchSemaphore(value: 0)
    source.setRegistrationHandler { isListening.signal() }
    source.setEventHandler(handler: body)
    source.resume()
    sources.append(source)
    isListening.wait()
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var inherited = sigaction()
    guard sigaction(number, nil, &inherited) == 0 else { return false }
    return unsafeBitCast(inherited.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  private static let cleanUp = Mutex<(@Sendable () -> Void)?>(nil)

  /// The exit status of an interrupt that is being answered; 0 when there is none.
  private static let interrupted = Atomic<Int32>(0)

  /// What a command says that has nothing else to show for it.
  static func sayInterrupted() {
    Output.error(withoutResult)
    sayInJSON()
  }

  static func sayInJSON() { Output.jsonFailure(interrupted.load(ordering: .relaxed), withoutResult) }

  private static let withoutResult = "interrupted before there was a result"

  /// A thread that finds its run ended by the interrupt waits here for the handler's exit. `show`: what there was until then.
  static func yieldToHandler(_ show: () -> Void = {}) {
    guard isInterrupted else { return }
    show()
    shown.signal()
    while true { pause() }
  }

  /// Runs `body` in a task that an interrupt cancels: so its plugin ends with a report, which the command shows.
  static func cancelling<Value: Sendable>(_ body: sending @escaping () async throws -> Value) async throws -> Value {
    let task = Task { try await body() }
    running.withLock { $0 = { task.cancel() } }
    return try await task.value
  }

  /// Ends what is run, and waits for what it comes to, a second at most.
  static func endRunning() {
    guard let cancel = running.withLock({ $0 }) else { return }
    cancel()
    _ = shown.wait(timeout: .now() + .seconds(1))
  }

  private static let running = Mutex<(@Sendable () -> Void)?>(nil)
  private static let shown = DispatchSemaphore(value: 0)

  /// Whether an interrupt is being answered.
  static var isInterrupted: Bool { interrupted.load(ordering: .relaxed) != 0 }

  /// Written before the first signal can arrive, on one thread.
  nonisolated(unsafe) private static var sources: [any DispatchSourceSignal] = []
}

/// Ends a command: prints the sentence, leaves with the status.
enum Exit {
  static func with(_ error: any Error) -> Never {
    switch error {
    case let failure as Failure: leave(failure.status, failure.message)
    case let error as HostError:
      switch error {
      case .input(let text): leave(66, text)
      case .usage(let text), .excess(let text): leave(64, text)
      // EX_CANTCREAT of sysexits.h.
      case .handOver(let text): leave(73, text)
      case .exhausted(let text), .failed(let text): leave(70, text)
      case .callback: leave(70, "\(error)")
      case .entryPointMissing(let text): leave(Outcome.Kind.entryPointMissing.exitStatus, text)
      case .cancelled: leave(Outcome.Kind.cancelled.exitStatus, "\(error)")
      case .ended(let report): leave(report.outcome.kind.exitStatus, "\(error)")
      }
    case let failure as ServiceFailure where failure.isEndOfConnection:
      leave(
        failure.exitStatus,
        "the service ended before it answered, and may have carried this out or not; run the command again: it starts the service where none runs"
      )
    case let failure as ServiceFailure: leave(failure.exitStatus, failure.description)
    // EX_UNAVAILABLE of sysexits.h.
    case let error as ServiceConnectionError: leave(69, error.description)
    case let error as StoreError:
      if case .heldBy = error { leave(75, "\(error)") }
      leave(73, "\(error)")
    default: leave(70, "\(error)")
    }
  }

  /// EX_IOERR of sysexits.h.
  static let lostOutput: Int32 = 74

  static func leave(_ status: Int32, _ message: String? = nil) -> Never {
    Interrupts.yieldToHandler()
    if let message {
      Output.error(message)
      if status != 0 { Output.jsonFailure(status, message) }
    }
    if let failure = Output.failure.withLock({ $0 }) {
      // A reader that has gone away has what it wanted.
      if failure.code != EPIPE { Output.error(failure.description) }
      // That the result couldn't be written counts more than how the command was to end.
      if failure.code != EPIPE || status == 0 { ProgramEnd.leave(lostOutput) }
    }
    ProgramEnd.leave(status)
  }
}
