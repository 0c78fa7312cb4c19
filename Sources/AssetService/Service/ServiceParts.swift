internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import LinuxSystem
internal import PluginHost
internal import ServiceMachines
internal import ServiceProtocol

/// The parts of the service, each with the others that it needs. All of them live on the service's thread.
final class ServiceParts: Decider.Executor {
  /// What the service has opened or begun with.
  struct Foundation {
    var configuration: AssetService.Configuration
    var store: AssetStore
    var transfers: Transfers
    var host: PluginHost
    var bundles: BundleShelf
    var machine: MachineWatch
    var journal: ServiceJournal
    var state: ServiceJournal.State
    var loop: EventLoop
  }

  let thread = ServiceThread()
  let clients = ClientRegistry()
  let simulations = SimulationWaiters()
  let runTable = RunTable()
  let downloads: DownloadTable
  let catalog: AppCatalog
  let decider: Decider
  let challenges: PendingChallenges
  let files: DownloadFiles
  let freshAnswers: AccessRenewal
  let events: TransferEvents
  let answers: ContentAnswers
  let runs: ExtensionRuns
  let requests: AppRequests
  let operators: OperatorCommands
  let handler: ClientHandler
  let machine: MachineObserver
  let space: SpaceReclaimer
  let executor: ActionExecutor
  let news: ServiceNews

  init(_ given: Foundation) {
    let (configuration, logger) = (given.configuration, given.configuration.logger)
    let (store, transfers) = (given.store, given.transfers)
    let plan = TransferPlan(groups: configuration.paths.groups, store: configuration.paths.store)
    downloads = DownloadTable(given.state.downloads, transfers: transfers)
    catalog = AppCatalog(given.bundles, plan: plan, logger: logger)
    decider = Decider(
      given.state.core, given.state.clock, journal: given.journal, downloads: downloads, catalog: catalog,
      timer: ServiceTimer(given.loop), logger: logger)
    let calls = OpenCalls(clients: clients)
    let news = ServiceNews(
      clients: clients, decider: decider, downloads: downloads, catalog: catalog, store: store, logger: logger)
    self.news = news
    challenges = PendingChallenges(decider: decider, downloads: downloads)
    let retry = JournalRetry(timer: ServiceTimer(given.loop), thread: thread, logger: logger)
    files = DownloadFiles(
      decider: decider, downloads: downloads, transfers: transfers, plan: plan, store: store, thread: thread,
      retry: retry, logger: logger)
    freshAnswers = AccessRenewal(
      decider: decider, downloads: downloads, transfers: transfers, plan: plan, news: news, thread: thread,
      timer: ServiceTimer(given.loop), retry: retry, logger: logger)
    events = TransferEvents(
      decider: decider, downloads: downloads, transfers: transfers, files: files, freshAnswers: freshAnswers,
      news: news, store: store, retry: retry, logger: logger)
    answers = ContentAnswers(
      runs: runTable, decider: decider, downloads: downloads, freshAnswers: freshAnswers, news: news)
    runs = ExtensionRuns(
      host: given.host, runs: runTable, decider: decider, downloads: downloads, catalog: catalog,
      challenges: challenges, answers: answers, freshAnswers: freshAnswers, news: news, thread: thread,
      isDevelopment: configuration.isDevelopment)
    requests = AppRequests(
      clients: clients, calls: calls, decider: decider, downloads: downloads, transfers: transfers,
      isDevelopment: configuration.isDevelopment)
    machine = MachineObserver(
      given.machine, sources: configuration.machine, decider: decider, engine: transfers.engine, thread: thread,
      logger: logger, isDevelopment: configuration.isDevelopment)
    operators = OperatorCommands(
      clients: clients, calls: calls, decider: decider, downloads: downloads, catalog: catalog, machine: machine,
      explanations: Explanations(decider: decider, downloads: downloads, transfers: transfers, plan: plan),
      simulations: simulations, news: news, store: store, thread: thread, configuration: configuration)
    handler = ClientHandler(
      clients: clients, calls: calls, decider: decider, catalog: catalog, challenges: challenges, requests: requests,
      operators: operators, thread: thread, configuration: configuration)
    space = SpaceReclaimer(
      clients: clients, runs: runTable, decider: decider, downloads: downloads, files: files, news: news, plan: plan)
    executor = ActionExecutor(
      decider: decider, transfers: transfers, store: store,
      orders: TransferOrders(
        decider: decider, downloads: downloads, transfers: transfers, events: events, plan: plan),
      files: files, runs: runs,
      delegates: DelegateCalls(
        clients: clients, runs: runTable, decider: decider, downloads: downloads, challenges: challenges, files: files,
        plan: plan),
      challenges: challenges, calls: calls, clients: clients, simulations: simulations, catalog: catalog, news: news,
      events: events, retry: retry)
    decider.executor = self
  }

  /// No client is connected, nothing is installed, and nothing is under way.
  var isIdle: Bool {
    decider.core.apps.isEmpty && clients.clients.isEmpty && runTable.isEmpty && !executor.isAtWork
  }

  /// Nothing is being installed, downloaded or asked of an extension.
  var isQuiet: Bool {
    runTable.isEmpty && !executor.isAtWork
      && decider.core.apps.values.allSatisfy { $0.lifecycle.phase == .launchable }
      && downloads.byApp.values.allSatisfy { all in all.values.allSatisfy { $0.entry?.state != .downloading } }
  }

  // MARK: Decider.Executor

  func nameRejected(_ downloads: [RejectedDownload], of app: String) -> [CoreEvent] {
    answers.name(downloads, of: app)
  }

  func actionsMayWait() {
    guard !executor.isAtWork else { return }
    thread.later {
      await $0.parts.executor.act()
      $0.hasActed()
    }
  }

  func committed(_ decisions: [Decider.Decision]) { news.publishChanges(of: decisions) }
}
