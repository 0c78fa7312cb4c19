internal import Downloads
internal import Logging
internal import ServiceMachines

/// What the machine and the settings say of power and network, told to the machines and to the engine.
final class MachineObserver {
  private var watch: MachineWatch
  private let sources: AssetService.MachineSources?
  private let decider: Decider
  private let engine: DownloadEngine
  private let thread: ServiceThread
  private let logger: Logger
  private let isDevelopment: Bool

  init(
    _ watch: MachineWatch, sources: AssetService.MachineSources?, decider: Decider, engine: DownloadEngine,
    thread: ServiceThread, logger: Logger, isDevelopment: Bool
  ) {
    self.watch = watch
    self.sources = sources
    self.decider = decider
    self.engine = engine
    self.thread = thread
    self.logger = logger
    self.isDevelopment = isDevelopment
  }

  func begin() {
    // Until it is read, what was so last is taken to be so still: a metered line isn't used for a moment after each start.
    conditionsChanged()
    guard let sources else { return machineChanged(MachineState(), hasSlept: false) }
    do {
      try watch.begin(sources) { [thread] in await thread.service?.machineChanged($0, hasSlept: $1) }
    } catch {
      logger.error("power and network aren't watched, so only settings count: \(error)")
      machineChanged(MachineState(), hasSlept: false)
    }
  }

  func end() { watch.end() }

  func machineChanged(_ state: MachineState, hasSlept: Bool) {
    guard !decider.isClosed else { return }
    let wasOnline = decider.core.conditions.isOnline
    watch.state = state
    if isDevelopment {
      // What an origin on this machine offers needs no network.
      watch.state?.isOnline = true
      watch.state?.isBehindPortal = false
    }
    conditionsChanged()
    if hasSlept || decider.core.conditions.isOnline && !wasOnline { engine.networkChanged() }
  }

  /// Decides anew after a change of settings or of the machine. The engine holds background transfers by the same
  /// conditions (B10).
  /// `replaced`: settings that count no more.
  func conditionsChanged(replacing replaced: ServiceSettings? = nil) {
    let conditions = watch.conditions(
      decider.core.conditions, settings: decider.core.settings, replacing: replaced)
    if conditions != decider.core.conditions {
      logger.info(
        "conditions changed",
        metadata: [
          "isLowPower": "\(conditions.isLowPower)", "isMetered": "\(conditions.isMetered)",
          "isOnline": "\(conditions.isOnline)", "language": "\(conditions.language ?? "")",
        ])
      decider.process(.conditions(conditions))
    }
    engine.setConditions(watch.engineConditions(decider.core.conditions, settings: decider.core.settings))
  }
}
