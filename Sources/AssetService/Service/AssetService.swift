public import AppBundles
internal import AssetModel
internal import AssetStore
public import Downloads
internal import Foundation
internal import Glibc
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
  public struct Configuration: Sendable {
    public var paths: ServicePaths
    /// Plain http to loopback hosts (L9), limits and clocks by settings (L17).
    public var isDevelopment = false
    /// A damaged database is put aside; its last backup, or an empty one, takes its place.
    public var startsFresh = false
    public var transfers = EngineOptions()
    public var host = PluginHost.Configuration()
    public var bundles = BundleLimits()
    public var logger = Logger(label: "outrider.service")
    /// The language tag that the user prefers (RFC 5646), until the machine's own changes or a setting says another:
    /// extensions are asked anew when it isn't the one that they were asked with last; nil: unknown.
    public var language: String?
    /// What processes that the service launches, or that are launched for it, find in their environment.
    public var environment: [String: String] = [:]
    /// Where power, metering and connectivity are read, all the time; nil: nowhere, and only settings count.
    public var machine: MachineSources? = MachineSources()

    public init(paths: ServicePaths) { self.paths = paths }
  }

  /// The actor's thread, which also reads the clients' sockets: what they ask is answered without a change of threads.
  private let loop: EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  let configuration: Configuration
  let store: AssetStore
  let transfers: Transfers
  let host: PluginHost
  let bundles: BundleShelf
  let startedAt = Date()
  private var journal: ServiceJournal
  private(set) var core: ServiceCore
  private(set) var clock: ServiceClock
  var clients = ClientRegistry()
  /// What apps have scheduled, by app and unique identifier.
  var downloads: [String: [String: ScheduledDownload]] = [:]
  var shared = SharedParts()
  var placed: [String: [String: PlacedApp]] = [:]
  var runs: [Int64: ActiveRun] = [:]
  /// Downloads that were rejected, until the extension has been told.
  var rejected: [String: [String: DownloadValue]] = [:]
  var challenges: [Int64: CheckedContinuation<ChallengeAnswer, Never>] = [:]
  var challengeValues: [Int64: ChallengeValue] = [:]
  var freshAnswers = FreshAnswers()
  /// Extensions that wait for an answer, by call or token.
  var waiting: [UInt64: CheckedContinuation<Int32, Never>] = [:]
  /// Of the exclusive control that runs hold or wait for.
  var controlTokens: [Int64: UInt64] = [:]

  private var actions: [Action] = []
  private var uncommitted = UncommittedWork()
  private var isActing = false
  private let timer: UInt64
  /// What it is set to.
  private var armed: Instant?
  private var events: Task<Void, Never>?
  private var listener: ClientListener?
  private var machine: MachineWatch
  private(set) var isStopping = false
  private var isStopped = false
  var whenStopped: [CheckedContinuation<Void, Never>] = []

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
    self.machine = machine
    let portal = machine.portal
    options.isBehindPortal = { portal.isThere }
    // Which conditions hold is in the journal: until `start` has told it, the engine transfers nothing.
    options.conditions.upgradeStep = "start"
    // Both read all downloads there are, each its own table.
    let opening = try Alongside { [options] in try DownloadEngine(journal: store, options: options) }
    var journal = ServiceJournal(store)
    let reading = ServiceClock.Reading.now()
    do {
      var state: ServiceJournal.State?
      do { state = try journal.load() } catch is ServiceJournal.Unreadable where configuration.startsFresh {}
      if var state {
        for row in state.unreadable { configuration.logger.error("the journal's row can't be read: \(row)") }
        hasUnreadableRows = !state.unreadable.isEmpty
        state.clock.advance(reading)
        (core, clock, downloads) = (state.core, state.clock, state.downloads)
      } else {
        let planner = WakePlanner(seed: UInt64.random(in: 0 ... .max))
        core = ServiceCore(planner: planner, settings: ServiceSettings(), conditions: Conditions())
        clock = ServiceClock(reading)
      }
      host = try PluginHost(configuration: configuration.host)
    } catch {
      if let engine = try? opening.value() { Task { await engine.close() } }
      throw error
    }
    self.journal = journal
    bundles = BundleShelf(
      AppInstaller(root: paths.apps, isDevelopment: configuration.isDevelopment, limits: configuration.bundles))
    let engine = try opening.value()
    transfers = Transfers(engine: engine, store: store)
    self.questions = questions
    self.room = room
    do { loop = try EventLoop("outrider.serve") } catch {
      Task { await engine.close() }
      throw error
    }
    timer = loop.newKey()
  }

  deinit { loop.shutDown() }

  private let questions: ChallengeRelay
  private let room: RoomRelay
  /// An app may be there that isn't known now: its files stay.
  private var hasUnreadableRows = false
  var bounds = JournalBounds()

  // MARK: Life

  /// Takes up what an earlier service left, and goes on.
  public func start() {
    questions.serve { [weak self] challenge in await self?.answer(challenge) ?? .performDefaultHandling }
    room.serve { [weak self] shortage in await self?.makeRoom(shortage) ?? false }
    // What the journal doesn't name was being prepared when the service died, and is swept.
    for app in bundles.versions() where core.apps[app.description.identifier]?.lifecycle.names(app.label) == true {
      remember(app)
    }
    if !hasUnreadableRows { Task.detached { [bundles] in bundles.sweep() } }
    events = Task { [transfers] in
      await transfers.forEachEvent(
        { [weak self] key, event in await self?.happened(key, event) },
        note: { [weak self] text in await self?.note(text) })
    }
    closeRuns()
    process(.restarted)
    watchMachine()
    Task { await self.reconcile() }
    boundJournal()
    configuration.logger.notice("started", metadata: ["apps": "\(core.apps.count)"])
  }

  /// Listens on a socket that `ClientListener.bind` made or systemd handed down. `path`: to be removed at the end.
  func listen(on socket: consuming OwnedDescriptor, path: String?) throws {
    guard !isStopping else { return }
    listener = try ClientListener(
      listeningOn: socket, path: path, on: loop,
      opened: { [weak self] connection in self?.assumeIsolated { $0.clients.add(connection) } },
      receive: { [weak self] id, arrival in self?.assumeIsolated { $0.arrived(arrival, on: id) } })
  }

  /// Listens on the socket of its paths.
  ///
  /// - Throws: a sentence with its remedy where the socket can't be made.
  public func listen() throws {
    try listen(on: try ClientListener.bind(configuration.paths.socket), path: configuration.paths.socket)
  }

  /// Ends everything at a checkpoint. Open downloads and what waits to be delivered stay in the journal.
  public func stop() async {
    guard !isStopping else { return await waitUntilStopped() }
    isStopping = true
    clients.simulations.endAll()
    listener?.stop()
    for client in clients.clients.values { client.connection.end(nil) }
    loop.setTimer(timer, at: nil)
    machine.end()
    host.stop()
    await transfers.engine.close()
    events?.cancel()
    commit([])
    try? store.close()
    configuration.logger.notice("stopped")
    isStopped = true
    for waiter in whenStopped { waiter.resume() }
    whenStopped = []
  }

  /// Returns when somebody has stopped it.
  public func waitUntilStopped() async {
    if isStopped { return }
    await withCheckedContinuation { whenStopped.append($0) }
  }

  private func watchMachine() {
    // Until it is read, what was so last is taken to be so still: a metered line isn't used for a moment after each start.
    conditionsChanged()
    guard let sources = configuration.machine else { return machineChanged(MachineState(), hasSlept: false) }
    do {
      try machine.begin(sources) { [weak self] in await self?.machineChanged($0, hasSlept: $1) }
    } catch {
      configuration.logger.error("power and network aren't watched, so only settings count: \(error)")
      machineChanged(MachineState(), hasSlept: false)
    }
  }

  private func machineChanged(_ state: MachineState, hasSlept: Bool) {
    guard !isStopping else { return }
    let wasOnline = core.conditions.isOnline
    machine.state = state
    if configuration.isDevelopment {
      // What an origin on this machine offers needs no network.
      machine.state?.isOnline = true
      machine.state?.isBehindPortal = false
    }
    conditionsChanged()
    if hasSlept || core.conditions.isOnline && !wasOnline { transfers.engine.networkChanged() }
  }

  /// Decides anew after a change of settings or of the machine. The engine holds background transfers by the same
  /// conditions (B10).
  func conditionsChanged() {
    let conditions = machine.conditions(core.conditions, settings: core.settings)
    if conditions != core.conditions {
      configuration.logger.info(
        "conditions changed",
        metadata: [
          "isLowPower": "\(conditions.isLowPower)", "isMetered": "\(conditions.isMetered)",
          "isOnline": "\(conditions.isOnline)", "language": "\(conditions.language ?? "")",
        ])
      process(.conditions(conditions))
    }
    transfers.engine.setConditions(machine.engineConditions(core.conditions, settings: core.settings))
  }

  /// Nobody is connected, nothing is installed, and nothing is under way.
  var isIdle: Bool { core.apps.isEmpty && clients.clients.isEmpty && runs.isEmpty && !isActing }

  // MARK: Events and actions

  /// Decides, writes down what changed, and has the actions carried out.
  func process(_ event: CoreEvent) { process([event]) }

  /// Several events, decided one after the other and written down together.
  func process(_ events: [CoreEvent]) {
    guard !isStopping, !events.isEmpty else { return }
    let now = clock.advance(.now())
    var decided = events.map { (event: $0, actions: core.handle($0, now: now)) }
    // What was rejected is written down with the answer that it was in: a kill between the two would lose it.
    for case .reportRejected(let app, let downloads) in decided.flatMap(\.actions) {
      decided += stage(app, downloads).map { (event: $0, actions: core.handle($0, now: now)) }
    }
    commit(decided.flatMap(\.actions), isVolatile: events.allSatisfy(\.isVolatile))
    if !isActing { Task { await self.act() } }
    if uncommitted.failure == nil { publishChanges(of: decided) }
    armTimer()
  }

  /// Why nothing can be written down now, and so nothing new is taken on; nil: it can.
  var journalFailure: ServiceFailure? {
    uncommitted.failure.map {
      .command(
        73, "the journal can't be written, so nothing new is taken on: \($0)",
        remedy: "free some space for \(configuration.paths.store); the service tries again every second")
    }
  }

  private func act() async {
    guard !isActing else { return }
    isActing = true
    defer { isActing = false }
    repeat {
      while !actions.isEmpty, !isStopping {
        let batch = actions
        actions = []
        await perform(batch)
      }
      endIdleRuns()
    } while !actions.isEmpty && !isStopping
  }

  /// Progress is written with the next change that matters.
  private func commit(_ actions: [Action], isVolatile: Bool = false) {
    let further = changes(for: actions)
    if isVolatile, further.isEmpty {
      // While the journal can't be written, progress isn't told.
      if uncommitted.failure == nil { self.actions += actions }
      return
    }
    uncommitted.add(actions, of: core.takeChanges(), further)
    do {
      try journal.commit(uncommitted.apps, of: core, clock: clock, further: uncommitted.changes)
      if uncommitted.failure != nil { configuration.logger.notice("the journal can be written again") }
      self.actions += uncommitted.committed()
    } catch {
      if uncommitted.failed("\(error)") {
        configuration.logger.critical("the journal can't be written, so nothing goes on until it can: \(error)")
      }
    }
  }

  /// Written down with the next event.
  func writeWithNext(_ change: ServiceChange) { uncommitted.add([], of: [], [change]) }

  private func changes(for actions: [Action]) -> [ServiceChange] {
    var changes: [ServiceChange] = []
    func write(_ app: String, _ unique: String) {
      guard let download = downloads[app]?[unique] else { return }
      changes.append(journal.scheduled(app, download))
    }
    for action in actions {
      switch action {
      case .store(let app, let entry):
        store(entry, of: app)
        write(app, entry.download.uniqueIdentifier)
      case .remove(let app, let download):
        downloads[app]?[download]?.entry = nil
        write(app, download)
      case .recordFailure(let app, let download, let failure):
        downloads[app]?[download]?.failure = ServiceFailure(failure)
        write(app, download)
      case .deleteFile(let app, let download), .withdrawDownload(let app, let download):
        // The row stays until the file is gone, and the engine has nothing to do with it any more.
        downloads[app]?[download]?.isDiscarded = true
        write(app, download)
      case .settleDelivery(let app, let download, let outcome):
        guard downloads[app]?[download]?.isDiscarded != true else { continue }
        if outcome == .undelivered, downloads[app]?[download]?.failure == nil {
          downloads[app]?[download]?.isUndelivered = true
          write(app, download)
          continue
        }
        downloads[app]?[download] = nil
        changes.append(.scheduled(app: app, identifier: download, value: nil))
      case .forget(let app):
        downloads[app] = nil
        changes.append(.forget(app: app))
      default: break
      }
    }
    return changes
  }

  private func store(_ entry: DownloadRegistry.Entry, of app: String) {
    let unique = entry.download.uniqueIdentifier
    guard var download = downloads[app]?[unique] ?? manifestDownload(app, entry) else { return }
    download.entry = entry
    download.value.state = entry.state.rawValue
    download.value.isEssential = entry.download.isEssential
    downloads[app, default: [:]][unique] = download
  }

  /// The manifest's download is the service's own: nobody has handed it over.
  private func manifestDownload(_ app: String, _ entry: DownloadRegistry.Entry) -> ScheduledDownload? {
    guard entry.isManifest, let url = description(of: app)?.manifestURL else { return nil }
    return ScheduledDownload(
      value: DownloadValue(
        identifier: entry.download.identifier, uniqueIdentifier: entry.download.uniqueIdentifier, url: url,
        applicationGroupIdentifier: "", fileSize: nil, isEssential: entry.download.isEssential, priority: 100,
        isManifest: true))
  }

  /// Writes down a download that changed without an action.
  func write(_ download: ScheduledDownload, of app: String) throws {
    try store.commit([journal.scheduled(app, download)])
  }

  /// Runs that ended with an earlier service.
  private func closeRuns() {
    for var run in ServiceJournal.wakes(in: store, of: nil, last: 1000)
    where run.outcome.kind == RunSummary.Outcome.runningKind {
      run.outcome = .init(kind: RunEnd.interrupted.rawValue, detail: "the service ended during the run")
      record(run)
    }
  }

  func record(_ run: RunSummary) {
    do { try store.commit([try journal.wake(run)]) } catch {
      configuration.logger.error("a run can't be written down: \(error)")
    }
    clients.publish(.run(run), of: run.app)
  }

  /// One timer for the next moment at which a machine has something to do.
  private func armTimer() {
    var next = core.nextDeadline
    if uncommitted.failure != nil {
      // A tick writes what couldn't be written.
      let retry = clock.now + .seconds(1)
      next = min(next ?? retry, armed ?? retry, retry)
    }
    guard next != armed else { return }
    armed = next
    let due = next.map { BootClock.now + max(.milliseconds(1), min($0 - clock.now, .seconds(1 << 32))) }
    loop.setTimer(timer, at: due) { [weak self] in self?.assumeIsolated { $0.timerFired() } }
  }

  private func timerFired() {
    armed = nil
    process(.tick)
  }

  func newOccurrence() -> Int64 { core.newOccurrence() }

  private func note(_ text: String) { configuration.logger.info("\(text)") }

  func remember(_ app: PlacedApp) {
    bundles.keep(app)
    placed[app.description.identifier, default: [:]][app.label] = app
  }

  /// What counts for decisions and summaries: the version that is coming, or the one that is there.
  func description(of app: String) -> AppDescription? { current(app)?.description }

  func current(_ app: String) -> PlacedApp? {
    let lifecycle = core.apps[app]?.lifecycle
    let versions = placed[app] ?? [:]
    return lifecycle?.incoming.flatMap { versions[$0] } ?? lifecycle?.version.flatMap { versions[$0] }
      ?? versions.values.first
  }
}

extension PlacedApp {
  /// Tells this version from all others of the app: the name of its folder.
  var label: String {
    let parts = path.split(separator: "/")
    return parts.count > 1 ? String(parts[parts.count - 2]) : description.version
  }
}

extension CoreEvent {
  /// Changes nothing that has to survive.
  fileprivate var isVolatile: Bool {
    switch self {
    case .app(_, .received): true
    default: false
    }
  }
}

extension ServiceFailure {
  init(_ failure: Failure) { self.init(domain: failure.domain, code: failure.code, message: failure.message) }
}

extension AssetStore.Options {
  static var service: Self {
    var options = Self()
    options.maxOpenJobsPerApp = 100_000
    return options
  }
}

extension ServiceClock.Reading {
  /// Of this machine's clocks.
  static func now() -> Self {
    Self(boot: bootIdentifier, bootTime: Int64(BootClock.now / .nanoseconds(1)), wall: WallClock.now())
  }

  private static let bootIdentifier =
    (try? Files.text(of: "/proc/sys/kernel/random/boot_id", limit: 64))?.filter { !$0.isNewline } ?? ""
}
