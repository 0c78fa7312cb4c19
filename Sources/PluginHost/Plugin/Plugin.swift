public import HostProtocol
internal import LinuxSystem
internal import Sandbox
internal import Synchronization

/// One loaded library in its runner. Any task may call; calls go one at a time, in the order in which they were made.
///
/// A task that is cancelled while its call waits for its turn gets `HostError.cancelled`. A call that is under way can't be
/// taken back from the plugin: cancelling its task ends the run, and it and everything behind it get `HostError.ended` with an
/// outcome of `cancelled`.
public final class Plugin: Sendable {
  let core: HostCore
  let run: UInt64
  package let image: RunnerMessage.LoadedImage
  /// Where the host sees the plugin's container, the first of several; an empty folder where that is memory of the run's own.
  public var container: String { containers.places[0].path }
  let containers: GroupContainers
  let lane: CallLane
  let holdings: Mutex<PluginHoldings>
  let functions = KnownFunctions()
  /// Bytes of memory that are read or written at once: a long piece doesn't take a frame of its length.
  let step: Int
  private static let longestStep = 1 << 20
  /// What an answer has besides the bytes.
  private static let frameRest = 64
  /// Tells its handles and memory from those of every other plugin of this process.
  private static let last = Atomic<UInt64>(0)
  /// What the plugin calls its container, the first of several.
  package var containerView: String { containers.places[0].view }

  /// `limits`: of the run.
  init(
    core: HostCore, run: UInt64, image: RunnerMessage.LoadedImage, containers: GroupContainers, lane: CallLane,
    limits: Limits
  ) {
    self.core = core
    self.run = run
    self.image = image
    self.containers = containers
    self.lane = lane
    holdings = Mutex(
      PluginHoldings(plugin: Self.last.add(1, ordering: .relaxed).newValue, memoryLimit: limits.memory))
    step = min(Self.longestStep, max(limits.frameBytes - Self.frameRest, 1))
  }

  /// What the plugin calls a path of this machine; nil for one that is in none of its containers.
  ///
  /// - Parameter path: On this machine, absolute.
  /// - Returns: The same place as the plugin sees it; nil for one that it doesn't.
  public func view(of path: String) -> String? { containers.view(of: path) }

  /// What a path of the plugin's is on this machine; nil for one that is in none of its containers. Goes by the names alone:
  /// the plugin may have put symbolic links in their place.
  ///
  /// - Parameter view: A path of the plugin's.
  /// - Returns: Where that is on this machine; nil for one that is in none of its containers.
  public func path(ofView view: String) -> String? { containers.path(ofView: view) }

  /// Calls a function by name: `try await plugin.call("pow", "f64(f64,f64)", .double(2), .double(10))`.
  /// Throws `HostError.ended` when the run ends in the call, `.usage` when signature and arguments don't fit, and
  /// `.entryPointMissing` for a symbol that isn't there or is data; the plugin goes on after those two.
  ///
  /// A limit of its own ends the run as the policy's does: as `wallTimeExceeded`, with a report that says whose limit it was.
  /// It counts from the beginning of the call, not while that waits for its turn.
  ///
  /// - Parameters:
  ///   - symbol: The function's name.
  ///   - signature: `RETURN(ARGUMENTS)`, for example `i32(i32)`; `outrider call --help` has the types.
  ///   - arguments: One for each that isn't `out(N)` or `out T`.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: What the function returned, and every argument that comes back.
  /// - Throws: `HostError.ended`, `.usage`, `.entryPointMissing`, or `.cancelled` before the call's turn.
  public func call(
    _ symbol: String, _ signature: String, _ arguments: CallArgument..., within limit: Duration? = nil
  ) async throws(HostError) -> CallResult {
    try await call(symbol, signature, arguments: arguments, within: limit)
  }

  /// Calls a function by name, with the arguments in an array.
  ///
  /// - Parameters:
  ///   - symbol: The function's name.
  ///   - signature: `RETURN(ARGUMENTS)`, for example `i32(i32)`.
  ///   - arguments: One for each that isn't `out(N)` or `out T`.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: What the function returned, and every argument that comes back.
  /// - Throws: `HostError.ended`, `.usage`, `.entryPointMissing`, or `.cancelled` before the call's turn.
  public func call(
    _ symbol: String, _ signature: String, arguments: [CallArgument], within limit: Duration? = nil
  ) async throws(HostError) -> CallResult {
    try Self.check(limit)
    lane.announce()
    do throws(HostError) {
      let function = try begin(symbol, signature, arguments)
      defer { finish(function) }
      let result = try await core.call(
        run, function.call, lane: lane, callbacks: answers(for: function.callbacks),
        mayAsk: holdings.withLock { $0.hasCallbacks }, within: limit)
      return function.known.isComposed ? compose(result, function.known.signature) : result
    } catch {
      lane.callFailed()
      throw error
    }
  }

  /// What its handles are known by (`PluginHandle.plugin`).
  package var identity: UInt64 { holdings.withLock { $0.plugin } }

  /// As the host sees it; nil before the walls are closed and after the end.
  package func runnerProcess() async -> Int32? { await core.runnerProcess(run) }

  /// What only this runner has in memory, and what it has in all.
  package func memoryShare() async -> MemoryShare? { await runnerProcess().flatMap(MemoryShare.init) }

  /// What the plugin logs and is denied, as it happens: also what it did while it was loaded.
  public var events: PluginEvents { PluginEvents(core: core, run: run) }

  /// A plugin that wasn't ended ends with its last reference.
  deinit { core.discard(run) }

  /// Whether it is one of this host's.
  package func runs(in host: PluginHost) -> Bool { core === host.core }

  /// Ends the runner and waits until it is gone.
  ///
  /// - Returns: Everything that is known about the run; the same one for every caller.
  public func end() async -> RunReport { await core.end(run) }
}
