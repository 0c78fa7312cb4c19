internal import LinuxSystem
internal import Synchronization

/// Keeps plugins of one library and policy loaded, and lends each to one borrower at a time, so that none waits for a load.
///
/// A plugin that died is replaced by itself. Where it dies again and again before it has served a caller, the next load waits 10 ms,
/// then twice as long each time, up to ten seconds. Memory and callbacks that a borrower left are taken back; a plugin in which it left
/// handles, or calls that go on, is replaced. What the library itself remembers is there for the next one, unless
/// `Configuration.loansPerPlugin` is 1. When the last reference goes, every plugin goes with it.
public final class PluginPool: Sendable {
  /// How many plugins, and who may wait for them.
  public struct Configuration: Sendable {
    /// Plugins that are kept loaded: 1 to 256.
    public var size = 2
    /// Borrowers who may wait at the same time; one more is refused at once.
    public var maxWaiting = 64
    /// How long one of them waits at most.
    public var waitLimit = Duration.seconds(10)
    /// After so many loans a plugin is replaced by a fresh one; nil: after any number. At least 1.
    public var loansPerPlugin: Int?

    /// Creates the configuration of a pool of two.
    public init() {}
  }

  /// What a pool is at, as it is now.
  public struct Status: Sendable, Equatable {
    /// Plugins that wait for a borrower.
    public var idle: Int
    /// Plugins that are lent, or were just returned with something left in them.
    public var lent: Int
    /// Plugins that are being loaded.
    public var loading: Int
    /// Borrowers that wait for one.
    public var waiting: Int
  }

  private struct Load: Sendable {
    var library: String
    var policy: Policy
    var options: PluginHost.LoadOptions
  }

  private struct State {
    var machine: PoolMachine
    var plugins: [Int: Plugin] = [:]
    var borrowers: [UInt64: CheckedContinuation<Result<(Int, Plugin), PoolError>, Never>] = [:]
    /// Of a load.
    var lastFailure = HostError.cancelled
    var drained: [CheckedContinuation<Void, Never>] = []
    var isDrained = false
    var armed: Duration?
  }

  private let host: PluginHost
  private let load: Load
  private let waitLimit: Duration
  private let alarm: PoolAlarm
  private let state: Mutex<State>

  /// Starts to load the plugins and returns at once; the first borrower waits for the first plugin.
  ///
  /// - Parameters:
  ///   - host: Whose plugins they are. The pool keeps it.
  ///   - library: As `PluginHost.load` takes it.
  ///   - policy: What each plugin may do.
  ///   - options: What each gets. `services` serves one run alone, and so can't be given.
  ///   - configuration: How many there are.
  /// - Throws: `HostError.usage` where the configuration or the options can't be had.
  public init(
    host: PluginHost, library: String, policy: Policy = Policy(),
    options: PluginHost.LoadOptions = PluginHost.LoadOptions(), configuration: Configuration = Configuration()
  ) throws(HostError) {
    guard (1...256).contains(configuration.size) else {
      throw .usage("a pool has 1 to 256 plugins; \(configuration.size) were wanted")
    }
    guard configuration.maxWaiting >= 0, configuration.waitLimit >= .zero, configuration.loansPerPlugin ?? 1 >= 1 else {
      throw .usage("a pool's maxWaiting and waitLimit are 0 or more, and loansPerPlugin is 1 or more")
    }
    guard options.services == nil else { throw .usage("the services of an extension serve one run, not a pool") }
    if let rejectionReason = policy.limits.rejectionReason { throw .usage(rejectionReason) }
    self.host = host
    load = Load(library: library, policy: policy, options: options)
    waitLimit = min(configuration.waitLimit, Limits.longestTime)
    alarm = PoolAlarm(host.core.loop)
    state = Mutex(
      State(
        machine: PoolMachine(
          size: configuration.size, maxWaiting: configuration.maxWaiting,
          maxLoans: configuration.loansPerPlugin ?? .max)))
    handle(.began)
  }

  deinit { alarm.set(at: nil) {} }

  // MARK: Borrowing

  /// Lends a plugin to `body`, which has it for itself until it returns. Borrowers are served in the order in which they asked. A task that is
  /// cancelled while it waits gets `PoolError.cancelled`; in a call of the plugin, the run ends as always, and the pool replaces it.
  ///
  /// - Parameter body: May call the plugin any number of times. It must not keep it. Handles that it doesn't release cost the pool a
  ///   load.
  /// - Returns: What `body` returns.
  /// - Throws: `PoolError` where there is no plugin to be had, and what `body` throws.
  public func withPlugin<Value>(_ body: (Plugin) async throws -> Value) async throws -> Value {
    let (slot, plugin) = try await borrow()
    do {
      let value = try await body(plugin)
      await giveBack(plugin, slot)
      return value
    } catch {
      await giveBack(plugin, slot)
      throw error
    }
  }

  /// Calls a function of a plugin of the pool, as `Plugin.call` does.
  ///
  /// - Parameters:
  ///   - symbol: The function's name.
  ///   - signature: `RETURN(ARGUMENTS)`, for example `i32(i32)`.
  ///   - arguments: One for each that isn't `out(N)`.
  ///   - limit: How long the call may take, where that is less than the policy's `wall`.
  /// - Returns: What the function returned, and the content of each `out(N)`.
  /// - Throws: `PoolError` where there is no plugin to be had, and `HostError` as `Plugin.call` does.
  public func call(
    _ symbol: String, _ signature: String, _ arguments: CallArgument..., within limit: Duration? = nil
  ) async throws -> CallResult {
    try await withPlugin { try await $0.call(symbol, signature, arguments: arguments, within: limit) }
  }

  /// What the pool is at.
  public var status: Status {
    let counts = state.withLock { $0.machine.counts }
    return Status(idle: counts.idle, lent: counts.lent, loading: counts.loading, waiting: counts.waiting)
  }

  /// Lends nothing any more, refuses the tasks that wait, and returns when every plugin has been given back and has ended.
  public func stop() async {
    handle(.stopped)
    await withCheckedContinuation { continuation in
      let isDrained = state.withLock { state in
        if !state.isDrained { state.drained.append(continuation) }
        return state.isDrained
      }
      if isDrained { continuation.resume() }
    }
  }

  private func borrow() async throws(PoolError) -> (Int, Plugin) {
    let ticket = CallTicket()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        state.withLock { $0.borrowers[ticket.id] = continuation }
        handle(.asked(ticket.id, deadline: BootClock.now + waitLimit))
        // It may have been cancelled before that.
        if ticket.isCancelled { handle(.cancelled(ticket.id)) }
      }
    } onCancel: {
      ticket.cancel()
      handle(.cancelled(ticket.id))
    }
    return try result.get()
  }

  private func giveBack(_ plugin: Plugin, _ slot: Int) async {
    guard plugin.lane.isOver else {
      return handle(.returned(slot: slot, .alive(await BorrowedPlugin(plugin: plugin).leftovers())))
    }
    let report = await plugin.end()
    let isFault = report.outcome.kind != .cancelled && report.outcome.kind != .returned
    handle(.returned(slot: slot, isFault ? .dead : .ended))
  }

  // MARK: Carrying out

  private func handle(_ event: PoolMachine.Event) {
    var events = [event]
    while let event = events.popLast() {
      let now = BootClock.now
      let (todo, due) = state.withLock { state -> ([@Sendable () -> PoolMachine.Event?], Duration??) in
        let todo = state.machine.handle(event, at: now).map { perform($0, &state) }
        let due = state.machine.nextDue
        guard due != state.armed else { return (todo, nil) }
        state.armed = due
        return (todo, .some(due))
      }
      // Outside the lock: who is resumed may ask at once.
      for act in todo { if let next = act() { events.append(next) } }
      if let due { arm(due) }
    }
  }

  private func arm(_ due: Duration?) {
    alarm.set(at: due) { [weak self] in
      self?.state.withLock { $0.armed = nil }
      self?.handle(.timeCame)
    }
  }

  /// What is to be done without the lock; it may tell of another event.
  private func perform(_ effect: PoolMachine.Effect, _ state: inout State) -> @Sendable () -> PoolMachine.Event? {
    switch effect {
    case .load(let slot):
      state.plugins[slot] = nil
      return { [self] in
        begin(slot)
        return nil
      }
    case .lend(let slot, let ticket):
      guard let plugin = state.plugins[slot], !plugin.lane.isOver else { return { .lendingFailed(slot: slot) } }
      let borrower = state.borrowers.removeValue(forKey: ticket)
      return {
        borrower?.resume(returning: .success((slot, plugin)))
        return nil
      }
    case .refuse(let ticket, let refusal):
      let borrower = state.borrowers.removeValue(forKey: ticket)
      let error = PoolError(refusal, state.lastFailure, waitLimit)
      return {
        borrower?.resume(returning: .failure(error))
        return nil
      }
    case .takeBack(let slot):
      let plugin = state.plugins[slot]
      return { [self] in
        // Not in the borrower's task, which may be cancelled.
        Task {
          var isAlive = false
          if let plugin { isAlive = await BorrowedPlugin(plugin: plugin).takeBack() }
          handle(.tookBack(slot: slot, isAlive: isAlive))
        }
        return nil
      }
    case .end(let slot):
      let plugin = state.plugins.removeValue(forKey: slot)
      return { [self] in
        Task {
          _ = await plugin?.end()
          handle(.ended(slot: slot))
        }
        return nil
      }
    case .drained:
      state.isDrained = true
      let waiting = exchange(&state.drained, with: [])
      return {
        for continuation in waiting { continuation.resume() }
        return nil
      }
    }
  }

  private func begin(_ slot: Int) {
    Task { [weak self, host, load] in
      let result: Result<Plugin, HostError>
      do throws(HostError) {
        result = .success(try await host.load(load.library, policy: load.policy, options: load.options))
      } catch {
        result = .failure(error)
      }
      self?.loaded(result, slot)
    }
  }

  private func loaded(_ result: Result<Plugin, HostError>, _ slot: Int) {
    switch result {
    case .success(let plugin):
      state.withLock { $0.plugins[slot] = plugin }
      watch(plugin, in: slot)
      handle(.loaded(slot: slot))
    case .failure(let error):
      state.withLock { $0.lastFailure = error }
      handle(.loadFailed(slot: slot))
    }
  }

  /// One that isn't lent may end as well.
  private func watch(_ plugin: Plugin, in slot: Int) {
    Task { [weak self, host, run = plugin.run] in
      await host.core.awaitEnd(of: run)
      guard let self, state.withLock({ $0.plugins[slot]?.run == run }) else { return }
      handle(.died(slot: slot))
    }
  }
}
