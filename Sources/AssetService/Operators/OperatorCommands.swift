internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import Basics
internal import Downloads
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import ServiceMachines
internal import ServiceProtocol

/// What `outrider` asks, and programs that embed the service.
final class OperatorCommands {
  private let clients: ClientRegistry
  private let calls: OpenCalls
  private let decider: Decider
  private let downloads: DownloadTable
  private let catalog: AppCatalog
  private let machine: MachineObserver
  private let explanations: Explanations
  private let simulations: SimulationWaiters
  private let news: ServiceNews
  private let store: AssetStore
  private let thread: ServiceThread
  private let configuration: AssetService.Configuration
  private let startedAt = Date()

  init(
    clients: ClientRegistry, calls: OpenCalls, decider: Decider, downloads: DownloadTable, catalog: AppCatalog,
    machine: MachineObserver, explanations: Explanations, simulations: SimulationWaiters, news: ServiceNews,
    store: AssetStore, thread: ServiceThread, configuration: AssetService.Configuration
  ) {
    self.clients = clients
    self.calls = calls
    self.decider = decider
    self.downloads = downloads
    self.catalog = catalog
    self.machine = machine
    self.explanations = explanations
    self.simulations = simulations
    self.news = news
    self.store = store
    self.thread = thread
    self.configuration = configuration
  }

  /// `connection`: nil where there is none.
  func perform(_ request: ClientRequest, for connection: ConnectionID?) async -> Result<Reply, ServiceFailure> {
    do throws(ServiceFailure) {
      if request.changesState, let failure = decider.journalFailure { throw failure }
      let reply = try await answer(request, connection)
      if request.changesState, let failure = decider.journalFailure { throw .isHeld(failure) }
      return .success(reply)
    } catch {
      return .failure(error)
    }
  }

  private func answer(_ request: ClientRequest, _ connection: ConnectionID?) async throws(ServiceFailure) -> Reply {
    switch request {
    case .install(let installation): return try await install(installation)
    case .uninstall(let app):
      try decider.known(app)
      decider.process(.app(app, .lifecycle(.removalRequested)))
      return .done
    case .installation(let app, let action):
      try decider.known(app)
      decider.process(.app(app, .lifecycle(try event(action, app))))
      return .done
    case .apps(let app):
      if let app { try decider.known(app) }
      let apps = decider.core.apps.keys.sorted().filter { app == nil || $0 == app }
      return .apps(apps.compactMap { news.summary(of: $0) })
    case .downloads, .runs, .log: return try list(request)?().get() ?? .done
    case .watch(let app):
      if let app { try decider.known(app) }
      if let connection { clients[connection]?.watching = app.map { .app($0) } ?? .everything }
      return .done
    case .unwatch:
      if let connection { clients[connection]?.watching = .nothing }
      return .done
    case .act(let action, let download): return try await act(action, on: download)
    case .explain(let subject): return .explanation(try await explanations.explain(subject))
    case .settings: return .settings(SettingsText.summary(decider.core.settings, decider.core.conditions))
    case .set(let key, let value, let app): return try set(key, value, app)
    case .simulate(let name, let app): return try await simulate(ContentRequestKind(name), app)
    case .launch(let app): return .launch(try ticket(app))
    case .status: return .status(status())
    case .stop:
      thread.later { await $0.stop() }
      return .done
    case .hello, .observe, .activate, .currentDownloads, .schedule, .startForeground, .cancel, .acquireControl,
      .releaseControl:
      throw .framework(55, "only an app may ask that")
    }
  }

  // MARK: Apps

  private func install(_ installation: Installation) async throws(ServiceFailure) -> Reply {
    let leaving = decider.core.apps.filter { $0.value.lifecycle.phase == .removing }
    let app = try await catalog.prepare(
      installation, installed: Set(decider.core.apps.keys), leaving: Set(leaving.keys))
    let identifier = app.description.identifier
    let isThere = decider.core.apps[identifier] != nil
    // Asked for while its bundle was read.
    if decider.core.apps[identifier]?.lifecycle.phase == .removing { throw AppCatalog.leaving(identifier) }
    catalog.remember(app)
    let restrictions = app.description.restrictions
    let facts = AppMachines.Facts(
      manifestHost: app.description.manifestURL.flatMap { try? ParsedURL($0).host } ?? "",
      limits: Restrictions.Limits(
        allowance: restrictions?.downloadAllowance ?? 0,
        essentialAllowance: restrictions?.essentialDownloadAllowance ?? 0,
        domains: restrictions?.allowedDomains),
      installation: decider.core.apps[identifier]?.facts.installation ?? UniqueIdentifier.random())
    news.log(identifier, isThere ? "update" : "install", "version \(app.description.version)")
    decider.process(
      .app(identifier, .placed(version: app.label, kind: isThere ? .update : .install, facts: facts)))
    return .apps(news.summary(of: identifier).map { [$0] } ?? [])
  }

  private func event(_ action: DownloadAction, _ app: String) throws(ServiceFailure) -> AppLifecycle.Event {
    guard decider.core.apps[app]?.lifecycle.gate.isClosed == true else {
      throw .command(64, "the app \(app) is neither being installed nor updated")
    }
    switch action {
    case .pause: return .paused
    case .resume: return .resumed
    case .cancel: return .installationCancelled
    case .promote: throw .command(64, "an installation can be paused, resumed and cancelled")
    }
  }

  /// It may have been taken away or damaged by others: then nothing of the app can be run.
  private func bundle(of app: String, _ version: String) throws(ServiceFailure) -> PlacedApp {
    if let bundle = catalog[app, version] { return bundle }
    throw .command(66, "the bundle of \(app) \(version) is missing or damaged", remedy: "install \(app) again")
  }

  private func ticket(_ app: String) throws(ServiceFailure) -> LaunchTicket {
    try decider.known(app)
    guard let machines = decider.core.apps[app], let version = machines.lifecycle.version,
      !machines.lifecycle.gate.isClosed
    else {
      let reason = decider.core.apps[app].map { Words.gate($0.lifecycle.gate.reason) } ?? ""
      throw .command(
        75, "the app \(app) can't be launched yet: \(reason)",
        remedy: "'outrider explain \(app)' says what it waits for")
    }
    let bundle = try bundle(of: app, version)
    return LaunchTicket(
      app: app, executable: bundle.executablePath, bundlePath: bundle.path, environment: configuration.environment)
  }

  /// Answers when the extension was asked and has answered or ended; throws why it wasn't asked.
  private func simulate(_ kind: ContentRequestKind, _ app: String) async throws(ServiceFailure) -> Reply {
    try decider.known(app)
    guard let lifecycle = decider.core.apps[app]?.lifecycle, let version = lifecycle.version,
      lifecycle.phase != .removing
    else {
      throw .command(75, "the app \(app) isn't there yet, or not any more", remedy: "wait until it may be launched")
    }
    _ = try bundle(of: app, version)
    // Otherwise it would be asked for when that ends, and the operator who simulates would wait for it without a word.
    if let refusal = decider.core.planner.situationRefusal(app) { throw notWoken(app, refusal) }
    let reason = await withCheckedContinuation { (continuation: SimulationWaiters.Continuation) in
      simulations.add(app, kind, continuation)
      decider.process(.planner(.runtimeReset(app: app)))
      decider.process(.app(app, .lifecycle(.requested(kind, isSimulated: true))))
    }
    switch reason {
    case .noEssentials, .essentialsSettled, .extensionFailed, .patienceExceeded(.answer):
      return .apps(news.summary(of: app).map { [$0] } ?? [])
    case .wakeRefused(let refusal): throw notWoken(app, refusal)
    case .some(let reason):
      throw .command(75, "the extension of \(app) wasn't asked: \(Words.gate(reason))", remedy: "outrider log \(app)")
    case nil: throw .command(75, "the service ends")
    }
  }

  private func notWoken(_ app: String, _ refusal: WakeRefusal) -> ServiceFailure {
    .command(
      75, "the extension of \(app) wasn't woken: \(Words.refusal(refusal.reason))",
      remedy: Words.remedy(refusal.reason, for: app, decider.core.settings))
  }

  // MARK: Downloads and settings

  private func act(_ action: DownloadAction, on name: String) async throws(ServiceFailure) -> Reply {
    let (app, unique) = try downloads.find(name)
    let call = calls.newCall()
    let status = await calls.answer(to: call) {
      let entry = downloads[app]?[unique]?.entry
      let event: DownloadRegistry.Event =
        switch action {
        case .pause: .pause(call: call, uniqueIdentifier: unique)
        case .resume: .resume(call: call, uniqueIdentifier: unique)
        case .cancel:
          .cancel(
            call: call, identifier: "", uniqueIdentifier: unique, state: entry?.state ?? .finished, caller: .operator)
        case .promote:
          .startForeground(
            call: call, download: entry?.download ?? PlannedDownload(uniqueIdentifier: unique, identifier: ""),
            state: entry?.state ?? .finished, caller: .operator)
        }
      decider.process(.app(app, .registry(event)))
    }
    guard status == 0 else {
      throw .framework(
        Int(status), "the download \(Printable.text(name)) can't be changed: error \(status)",
        remedy: "'outrider explain \(Printable.text(name))' says how it is")
    }
    return .downloadList(downloads[app]?[unique].map { [Summaries.download(app, $0)] } ?? [])
  }

  private func set(_ key: String, _ value: String?, _ app: String?) throws(ServiceFailure) -> Reply {
    if let app { try decider.known(app) }
    var settings = decider.core.settings
    try SettingsText.set(key, value, app, &settings)
    let replaced = decider.core.settings
    if settings != replaced {
      decider.process(.settings(settings))
      machine.conditionsChanged(replacing: replaced)
    }
    return .settings(SettingsText.summary(decider.core.settings, decider.core.conditions))
  }

  private func status() -> StatusSummary {
    let memory = (try? Files.text(of: "/proc/self/statm", limit: 256))?.split(separator: " ").dropFirst().first
    return StatusSummary(
      process: getpid(), version: ProductVersion.text, startedAt: Timestamp.text(startedAt),
      isDevelopment: configuration.isDevelopment, socket: configuration.paths.socket, database: store.path,
      databaseBytes: (try? Files.identity(of: store.path).size) ?? 0, apps: decider.core.apps.count,
      downloads: downloads.count, connections: clients.clients.count,
      memoryBytes: (memory.flatMap { Int64($0) } ?? 0) * Int64(getpagesize()))
  }

  // MARK: Lists

  /// What makes a list, where the service isn't held up by it; nil: the request asks for none.
  func list(_ request: ClientRequest) -> OperatorLists.List? {
    switch request {
    case .downloads(let app):
      do throws(ServiceFailure) { if let app { try decider.known(app) } } catch {
        return { [error] in .failure(error) }
      }
      return OperatorLists.downloads(downloads.byApp.filter { app == nil || $0.key == app })
    case .runs(let app, let limit): return OperatorLists.runs(in: store, of: app, limit)
    case .log(let app, let limit): return OperatorLists.log(in: store, of: app, limit)
    default: return nil
    }
  }
}

extension ContentRequestKind {
  init(_ name: RequestName) {
    self =
      switch name {
      case .install: .install
      case .update: .update
      case .periodic: .periodic
      case .languageChange: .languageChange
      }
  }
}
