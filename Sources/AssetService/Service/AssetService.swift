public import AppBundles
internal import AssetModel
internal import AssetStore
public import Downloads
internal import LinuxSystem
public import Logging
public import PluginHost
internal import ServiceMachines
public import ServiceProtocol

/// Brokers between apps, their extensions and the download engine: the machines decide, this carries out.
///
/// An event goes through the machines, what changed goes to the journal in one transaction, and then the actions are
/// carried out, in order; their answers are events again. After `kill -9` the machines ask again for what was under way.
///
/// A program embeds it (`start`, then `perform`), `outriderd` puts a socket in front of it.
public actor AssetService {
  /// What one service is made of.
  public struct Configuration: Sendable {
    /// Where it keeps what it has.
    public var paths: ServicePaths
    /// Plain http to loopback hosts (L9), limits and clocks by settings (L17).
    public var isDevelopment = false
    /// A damaged database is renamed and kept; its last backup, or an empty one, takes its place.
    public var startsFresh = false
    /// How it downloads.
    public var transfers = EngineOptions()
    /// How it runs extensions.
    public var host = PluginHost.Configuration()
    /// What a bundle may have at most.
    public var bundles = BundleLimits()
    /// Where it logs to.
    public var logger = Logger(label: "outrider.service")
    /// The language tag that the user prefers (RFC 5646), until the machine's own changes or a setting says another:
    /// extensions are asked anew when it isn't the one that they were asked with last; nil: unknown.
    public var language: String?
    /// What processes that the service launches, or that are launched for it, find in their environment.
    public var environment: [String: String] = [:]
    /// Where power, metering and connectivity are read, all the time; nil: nowhere, and only settings count.
    public var machine: MachineSources? = MachineSources()

    /// Creates a configuration with defaults for everything else.
    public init(paths: ServicePaths) { self.paths = paths }
  }

  /// The actor's thread, which also reads the clients' sockets: what they ask is answered without a change of threads.
  private let loop: EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  let configuration: Configuration
  let parts: ServiceParts
  private let store: AssetStore
  let transfers: Transfers
  private let host: PluginHost
  private let bundles: BundleShelf
  private let questions: ChallengeRelay
  private let room: RoomRelay
  /// An app may be there that isn't known now: its files stay.
  private let hasUnreadableRows: Bool
  let backups: JournalBackups
  private var events: Task<Void, Never>?
  private var listener: ClientListener?
  private var idle: (deadline: IdleDeadline, timer: ServiceTimer)?
  private var isStopped = false
  private var whenStopped: [CheckedContinuation<Void, Never>] = []

  /// Opens the journal and takes up what is in it; nothing runs before `start`.
  ///
  /// - Throws: `StoreError` for a state folder that can't be used or that another service has, `HostError` where plugins
  ///   can't be run here, `TransportUnavailable`.
  public init(_ configuration: Configuration) throws {
    self.configuration = configuration
    let paths = configuration.paths
    for folder in [paths.store, paths.apps, paths.groups, "\(paths.store)/manifests"] {
      try Files.makeDirectories(folder, mode: 0o700)
    }
    var storeOptions = AssetStore.Options.service
    storeOptions.startFresh = configuration.startsFresh
    let store = try AssetStore(opening: paths.store, options: storeOptions)
    self.store = store
    let questions = ChallengeRelay()
    var options = configuration.transfers
    options.containerRoots = [try Files.real(paths.groups)]
    options.stagingOwner = paths.store
    options.answerChallenge = { await questions.answer($0) }
    let room = RoomRelay()
    options.makeRoom = { await room.makeRoom($0) }
    let machine = MachineWatch(language: configuration.language)
    let portal = machine.portal
    options.isBehindPortal = { portal.isThere }
    // Which conditions hold is in the journal: until `start` has told it, the engine transfers nothing.
    options.conditions.upgradeStep = "start"
    // Both read all downloads there are, each its own table.
    let opening = try Alongside { [options] in try DownloadEngine(journal: store, options: options) }
    var journal = ServiceJournal(store)
    let state: ServiceJournal.State
    do {
      state = try Self.state(in: &journal, configuration)
      host = try PluginHost(configuration: configuration.host)
    } catch {
      if let engine = try? opening.value() { Task { await engine.close() } }
      throw error
    }
    let engine = try opening.value()
    do { loop = try EventLoop("outrider.serve") } catch {
      Task { await engine.close() }
      throw error
    }
    hasUnreadableRows = !state.unreadable.isEmpty
    transfers = Transfers(engine: engine, store: store)
    bundles = BundleShelf(
      AppInstaller(root: paths.apps, isDevelopment: configuration.isDevelopment, limits: configuration.bundles))
    self.questions = questions
    self.room = room
    parts = ServiceParts(
      .init(
        configuration: configuration, store: store, transfers: transfers, host: host, bundles: bundles,
        machine: machine, journal: journal, state: state, loop: loop))
    backups = JournalBackups(
      store: store, thread: parts.thread, timer: ServiceTimer(loop), logger: configuration.logger)
  }

  deinit { loop.shutDown() }

  private static func state(
    in journal: inout ServiceJournal, _ configuration: Configuration
  ) throws -> ServiceJournal.State {
    let reading = ServiceClock.Reading.now()
    var state: ServiceJournal.State?
    do { state = try journal.load() } catch is ServiceJournal.Unreadable where configuration.startsFresh {}
    guard var state else {
      let planner = WakePlanner(seed: UInt64.random(in: 0 ... .max))
      return ServiceJournal.State(
        core: ServiceCore(planner: planner, settings: ServiceSettings(), conditions: Conditions()),
        clock: ServiceClock(reading), downloads: [:])
    }
    for row in state.unreadable { configuration.logger.error("the journal's row can't be read: \(row)") }
    state.clock.advance(reading)
    return state
  }

  // MARK: Life

  /// Takes up what an earlier service left, and goes on.
  public func start() {
    parts.thread.belongs(to: self)
    questions.serve { [weak self] challenge in await self?.answer(challenge) ?? .performDefaultHandling }
    room.serve { [weak self] shortage in await self?.makeRoom(shortage) ?? false }
    // What the journal doesn't name was being prepared when the service died, and is swept.
    let apps = parts.decider.core.apps
    for app in bundles.versions() where apps[app.description.identifier]?.lifecycle.names(app.label) == true {
      parts.catalog.remember(app)
    }
    if !hasUnreadableRows { Task.detached { [bundles] in bundles.sweep() } }
    events = Task { [transfers] in
      await transfers.forEachEvent(
        { [weak self] key, event in await self?.happened(key, event) },
        unattributed: { [weak self] id, event, error in await self?.happened(id, event, error) },
        note: { [weak self] text in await self?.note(text) })
    }
    parts.news.closeRuns()
    parts.decider.process(.restarted)
    parts.machine.begin()
    Task { await parts.events.reconcile() }
    parts.files.boundJournal()
    tellRecovery()
    configuration.logger.notice("started", metadata: ["apps": "\(parts.decider.core.apps.count)"])
  }

  /// A journal that was replaced is never replaced silently.
  private func tellRecovery() {
    guard let damage = store.recovery.damage else { return }
    let recovery = store.recovery
    let place =
      recovery.backupMade.map { "its backup of \(WallClock.text($0)) took its place" } ?? "an empty one took its place"
    configuration.logger.warning(
      "the journal was damaged (\(damage)); a copy is at \(recovery.copy ?? "no place"), \(place). Apps that it doesn't know have to be installed again"
    )
  }

  /// Listens on a socket that `ClientListener.bind` made or systemd handed down. `path`: to be removed at the end.
  func listen(on socket: consuming OwnedDescriptor, path: String?) throws {
    guard !parts.decider.isClosed else { return }
    listener = try ClientListener(
      listeningOn: socket, path: path, on: loop,
      opened: { [weak self] connection in
        self?.assumeIsolated {
          $0.parts.clients.add(connection)
          $0.lookWhetherIdle()
        }
      },
      receive: { [weak self] id, arrival in
        self?.assumeIsolated {
          $0.parts.handler.arrived(arrival, on: id)
          $0.lookWhetherIdle()
        }
      })
  }

  /// Listens on the socket of its paths.
  ///
  /// - Throws: a sentence with its remedy where the socket can't be made.
  public func listen() throws {
    try listen(on: try ClientListener.bind(configuration.paths.socket), path: configuration.paths.socket)
  }

  /// Carries out a request of an operator; those of apps need a connection.
  package func perform(_ request: ClientRequest) async -> Result<Reply, ServiceFailure> {
    await parts.operators.perform(request, for: nil)
  }

  /// Ends everything at a checkpoint. Open downloads and what waits to be delivered stay in the journal.
  public func stop() async {
    guard !parts.decider.isClosed else { return await waitUntilStopped() }
    parts.decider.close()
    parts.executor.retry.end()
    parts.simulations.endAll()
    listener?.stop()
    parts.clients.endAll()
    parts.machine.end()
    backups.end()
    host.stop()
    // What they did is written down while there is a journal.
    await parts.runs.waitForEnds(ServiceTimer(loop))
    await transfers.engine.close()
    events?.cancel()
    parts.decider.commitLast()
    do { try store.close() } catch {
      configuration.logger.error("the journal isn't closed in order, and the next start examines it: \(error)")
    }
    configuration.logger.notice("stopped")
    isStopped = true
    for waiter in whenStopped { waiter.resume() }
    whenStopped = []
  }

  /// Returns when it has been stopped.
  public func waitUntilStopped() async {
    if isStopped { return }
    await withCheckedContinuation { whenStopped.append($0) }
  }

  /// From now on it stops by itself when for so long there were no apps, no clients and no work.
  func stop(afterIdle patience: Duration) {
    idle = (IdleDeadline(patience: patience), ServiceTimer(loop))
    lookWhetherIdle()
  }

  /// Decisions were carried out.
  func hasActed() {
    backups.journalMayHaveChanged()
    lookWhetherIdle()
  }

  func backUpIfQuiet() {
    guard !parts.decider.isClosed else { return }
    backups.backUp(isQuiet: parts.isQuiet)
  }

  /// Called after everything that may have changed it: a client came, spoke or left, or decisions were carried out.
  func lookWhetherIdle() {
    guard idle != nil, !parts.decider.isClosed else { return }
    idle?.deadline.look(isIdle: parts.isIdle, now: BootClock.now)
    idle?.timer.set(at: idle?.deadline.due) { [weak self] in self?.assumeIsolated { $0.stopIfIdle() } }
  }

  private func stopIfIdle() {
    // Otherwise what is being carried out has it looked at again.
    if parts.isIdle { later { await $0.stop() } }
  }

  // MARK: From other threads

  /// In a task of the service's own.
  func later(_ work: @escaping ServiceThread.Work) { Task { await work(self) } }

  private func note(_ text: String) { configuration.logger.info("\(text)") }

  private func happened(_ key: Transfers.Key, _ event: Transfers.Event) async {
    await parts.events.happened(key, event)
  }

  private func happened(_ id: JobID, _ event: Transfers.Event, _ error: UnreadableJournal) {
    parts.events.happened(id, event, error)
  }

  private func answer(_ challenge: AuthenticationChallenge) async -> ChallengeAnswer {
    await parts.challenges.answer(challenge)
  }

  /// A volume is short. Returns whether something has gone.
  @discardableResult
  func makeRoom(_ shortage: SpaceShortage) async -> Bool { await parts.space.makeRoom(shortage) }

  func machineChanged(_ state: MachineState, hasSlept: Bool) {
    parts.machine.machineChanged(state, hasSlept: hasSlept)
  }
}

extension AssetStore.Options {
  static var service: Self {
    var options = Self()
    options.maxOpenJobsPerApp = 100_000
    return options
  }
}
