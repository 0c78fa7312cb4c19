internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import ServiceMachines
public import ServiceProtocol

/// What `outrider` asks, and programs that embed the service.
extension AssetService {
  /// Carries out a request of an operator; those of apps need a connection.
  public func perform(_ request: ClientRequest) async -> Result<Reply, ServiceFailure> {
    await perform(request, for: nil)
  }

  func perform(_ request: ClientRequest, for connection: ConnectionID?) async -> Result<Reply, ServiceFailure> {
    do throws(ServiceFailure) {
      if request.changesState, let journalFailure { throw journalFailure }
      let reply = try await answer(request, connection)
      if request.changesState, let journalFailure { throw .isHeld(journalFailure) }
      return .success(reply)
    } catch {
      return .failure(error)
    }
  }

  private func answer(_ request: ClientRequest, _ connection: ConnectionID?) async throws(ServiceFailure) -> Reply {
    switch request {
    case .install(let installation): return try await install(installation)
    case .uninstall(let app):
      try known(app)
      process(.app(app, .lifecycle(.removalRequested)))
      return .done
    case .installation(let app, let action):
      try known(app)
      process(.app(app, .lifecycle(try event(action, app))))
      return .done
    case .apps(let app):
      if let app { try known(app) }
      return .apps(core.apps.keys.sorted().filter { app == nil || $0 == app }.compactMap { summary(of: $0) })
    case .downloads, .runs, .log: return try list(request)?().get() ?? .done
    case .watch(let app):
      if let app { try known(app) }
      if let connection { clients[connection]?.watching = app.map { .app($0) } ?? .everything }
      return .done
    case .unwatch:
      if let connection { clients[connection]?.watching = .nothing }
      return .done
    case .act(let action, let download): return try await act(action, on: download)
    case .explain(let subject): return .explanation(try await explain(subject))
    case .settings: return .settings(SettingsText.summary(core.settings, core.conditions))
    case .set(let key, let value, let app): return try set(key, value, app)
    case .simulate(let name, let app): return try await simulate(ContentRequestKind(name), app)
    case .launch(let app): return .launch(try ticket(app))
    case .status: return .status(status())
    case .stop:
      Task { await self.stop() }
      return .done
    case .hello, .observe, .activate, .currentDownloads, .schedule, .startForeground, .cancel, .acquireControl,
      .releaseControl:
      throw .framework(55, "only an app may ask that")
    }
  }

  /// Answers when the extension was asked and has answered or ended; throws why it wasn't asked.
  private func simulate(_ kind: ContentRequestKind, _ app: String) async throws(ServiceFailure) -> Reply {
    try known(app)
    guard let lifecycle = core.apps[app]?.lifecycle, lifecycle.version != nil, lifecycle.phase != .removing else {
      throw .command(75, "the app \(app) isn't there yet, or not any more", remedy: "wait until it may be launched")
    }
    // Otherwise it would be asked for when that ends, and whoever simulates would wait for it without a word.
    if let refusal = core.planner.situationRefusal(app) { throw Self.notWoken(app, refusal) }
    let reason = await withCheckedContinuation { (continuation: SimulationWaiters.Continuation) in
      clients.simulations.add(app, kind, continuation)
      process(.planner(.runtimeReset(app: app)))
      process(.app(app, .lifecycle(.requested(kind, isSimulated: true))))
    }
    switch reason {
    case .noEssentials, .essentialsSettled, .extensionFailed, .patienceExceeded(.answer):
      return .apps(summary(of: app).map { [$0] } ?? [])
    case .wakeRefused(let refusal): throw Self.notWoken(app, refusal)
    case .some(let reason):
      throw .command(75, "the extension of \(app) wasn't asked: \(Words.gate(reason))", remedy: "outrider log \(app)")
    case nil: throw .command(75, "the service ends")
    }
  }

  private static func notWoken(_ app: String, _ refusal: WakeRefusal) -> ServiceFailure {
    .command(
      75, "the extension of \(app) wasn't woken: \(Words.refusal(refusal.reason))", remedy: Words.remedy(refusal.reason)
    )
  }

  func known(_ app: String) throws(ServiceFailure) {
    guard core.apps[app] != nil else {
      throw .command(
        66, "the app \(Printable.text(app)) isn't installed", remedy: "'outrider apps' lists those that are")
    }
  }

  // MARK: Apps

  private func install(_ installation: Installation) async throws(ServiceFailure) -> Reply {
    let app = try await prepare(installation)
    let identifier = app.description.identifier
    let isThere = core.apps[identifier] != nil
    remember(app)
    let restrictions = app.description.restrictions
    let facts = AppMachines.Facts(
      manifestHost: app.description.manifestURL.flatMap { try? ParsedURL($0).host } ?? "",
      limits: Restrictions.Limits(
        allowance: restrictions?.downloadAllowance ?? 0,
        essentialAllowance: restrictions?.essentialDownloadAllowance ?? 0,
        domains: restrictions?.allowedDomains),
      installation: core.apps[identifier]?.facts.installation ?? UUID().uuidString)
    log(identifier, isThere ? "update" : "install", "version \(app.description.version)")
    process(.app(identifier, .placed(version: app.label, kind: isThere ? .update : .install, facts: facts)))
    return .apps(summary(of: identifier).map { [$0] } ?? [])
  }

  /// The bundle, checked, beside the version that counts.
  private func prepare(_ installation: Installation) async throws(ServiceFailure) -> PlacedApp {
    do {
      let installed = installation.mustExist ? Set(core.apps.keys) : nil
      return try await Task.detached { [bundles] in
        let staged = try bundles.stage(installation.path)
        let identifier = staged.description.identifier
        if let installed, !installed.contains(identifier) {
          throw ServiceFailure.command(
            66, "the app \(identifier) isn't installed, so it can't be updated", remedy: "outrider install")
        }
        return try bundles.prepare(staged, sharing: Set(installation.sharedGroups))
      }.value
    } catch let error as BundleError {
      throw ServiceFailure(error)
    } catch let error as ServiceFailure {
      throw error
    } catch {
      throw .command(70, "\(error)")
    }
  }

  private func event(_ action: DownloadAction, _ app: String) throws(ServiceFailure) -> AppLifecycle.Event {
    guard core.apps[app]?.lifecycle.gate.isClosed == true else {
      throw .command(64, "the app \(app) is neither being installed nor updated")
    }
    switch action {
    case .pause: return .paused
    case .resume: return .resumed
    case .cancel: return .installationCancelled
    case .promote: throw .command(64, "an installation can be paused, resumed and cancelled")
    }
  }

  func summary(of app: String) -> AppSummary? {
    guard let machines = core.apps[app] else { return nil }
    return Summaries.app(
      app, machines, current(app), planner: core.planner,
      groups: Dictionary(
        uniqueKeysWithValues: Set(description(of: app)?.appGroups ?? []).map { ($0, plan.container(of: $0)) }),
      clock: clock)
  }

  private func ticket(_ app: String) throws(ServiceFailure) -> LaunchTicket {
    try known(app)
    guard let machines = core.apps[app], let version = machines.lifecycle.version, let bundle = placed[app]?[version],
      !machines.lifecycle.gate.isClosed
    else {
      let reason = core.apps[app].map { Words.gate($0.lifecycle.gate.reason) } ?? ""
      throw .command(
        75, "the app \(app) can't be launched yet: \(reason)",
        remedy: "'outrider explain \(app)' says what it waits for")
    }
    return LaunchTicket(
      app: app, executable: bundle.executablePath, bundlePath: bundle.path, environment: configuration.environment)
  }

  // MARK: Downloads

  private func find(_ download: String) throws(ServiceFailure) -> (app: String, unique: String) {
    let wanted = download.uppercased()
    for (app, all) in downloads where all[download] != nil || all[wanted] != nil {
      return (app, all[download] != nil ? download : wanted)
    }
    let named = downloads.flatMap { app, all in
      all.values.filter { $0.value.identifier == download }.map { (app, $0.value.uniqueIdentifier) }
    }
    guard named.count < 2 else {
      throw .command(
        64, "\(named.count) downloads are called \(Printable.text(download))",
        remedy: "name one by its unique identifier, which 'outrider downloads' shows")
    }
    guard let found = named.first else {
      throw .command(66, "there is no download \(Printable.text(download))", remedy: "'outrider downloads' lists them")
    }
    return found
  }

  private func act(_ action: DownloadAction, on name: String) async throws(ServiceFailure) -> Reply {
    let (app, unique) = try find(name)
    let call = clients.beginInternal()
    let status = await withCheckedContinuation { (continuation: CheckedContinuation<Int32, Never>) in
      waiting[call] = continuation
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
      process(.app(app, .registry(event)))
    }
    guard status == 0 else {
      throw .framework(
        Int(status), "the download \(Printable.text(name)) can't be changed: error \(status)",
        remedy: "'outrider explain \(Printable.text(name))' says how it is")
    }
    return .downloadList(downloads[app]?[unique].map { [Summaries.download(app, $0)] } ?? [])
  }

  // MARK: Explanations

  private func explain(_ subject: String) async throws(ServiceFailure) -> ExplanationSummary {
    if let machines = core.apps[subject] { return explain(subject, machines) }
    let (app, unique) = try find(subject)
    guard let scheduled = downloads[app]?[unique] else { throw .command(66, "there is no download \(subject)") }
    if let failure = scheduled.failure {
      return ExplanationSummary(
        kind: "download", subject: subject, code: "failed",
        data: ["domain": failure.domain, "code": "\(failure.code)"],
        message: failure.message, remedy: failure.remedy ?? "schedule it again")
    }
    if scheduled.isUndelivered {
      return ExplanationSummary(
        kind: "download", subject: subject, code: "undelivered", data: ["path": plan.path(of: scheduled.value)],
        message: "three recipients in a row ended while they were told of its file, which is kept until space is short",
        remedy: "outrider runs \(app) shows how the extension ended; mend it, and have it schedule the download again")
    }
    guard let explanation = await transfers.explain(.init(app: app, download: unique)) else {
      return ExplanationSummary(
        kind: "download", subject: subject, code: "queued", data: [:], message: "it waits for its turn",
        remedy: "nothing has to be done")
    }
    func moment(_ seconds: Double?) -> String? { seconds.map { Timestamp.text(Date(timeIntervalSinceNow: $0)) } }
    return ExplanationSummary(
      kind: "download", subject: subject, code: explanation.code.rawValue, data: explanation.data,
      message: explanation.code.rawValue, since: moment(explanation.since.map { -$0 }),
      until: moment(explanation.endsIn),
      remedy: explanation.remedy)
  }

  private func explain(_ app: String, _ machines: AppMachines) -> ExplanationSummary {
    func time(_ instant: Instant?) -> String? { instant.map { Timestamp.text(wall: clock.wall(of: $0)) } }
    let gate = machines.lifecycle.gate
    if gate.isClosed {
      let stage = machines.lifecycle.active?.stage
      return ExplanationSummary(
        kind: "app", subject: app, code: machines.lifecycle.isPaused ? "paused" : stage?.rawValue ?? "installing",
        data: ["essentials": "\(machines.lifecycle.active?.essentials.count ?? 0)"],
        message: machines.lifecycle.isPaused ? "its installation is paused" : Words.stage(stage),
        since: time(gate.since),
        until: time(machines.lifecycle.active?.deadline),
        remedy: machines.lifecycle.isPaused
          ? "outrider installation resume \(app)" : "nothing has to be done: the gate opens at the latest then")
    }
    if let refusal = core.planner.apps[app]?.lastRefusal {
      return ExplanationSummary(
        kind: "wake", subject: app, code: refusal.reason.rawValue, data: [:], message: Words.refusal(refusal.reason),
        until: time(refusal.until), remedy: Words.remedy(refusal.reason))
    }
    return ExplanationSummary(
      kind: "app", subject: app, code: machines.lifecycle.phase.rawValue, data: [:], message: Words.gate(gate.reason),
      since: time(gate.since), remedy: "outrider launch \(app)")
  }

  // MARK: The service

  private func set(_ key: String, _ value: String?, _ app: String?) throws(ServiceFailure) -> Reply {
    if let app { try known(app) }
    var settings = core.settings
    try SettingsText.set(key, value, app, &settings)
    if settings != core.settings {
      process(.settings(settings))
      conditionsChanged()
    }
    return .settings(SettingsText.summary(core.settings, core.conditions))
  }

  private func status() -> StatusSummary {
    let memory = (try? Files.text(of: "/proc/self/statm", limit: 256))?.split(separator: " ").dropFirst().first
    return StatusSummary(
      process: getpid(), version: Outrider.version, startedAt: Timestamp.text(startedAt),
      isDevelopment: configuration.isDevelopment, socket: configuration.paths.socket, database: store.path,
      databaseBytes: (try? Files.identity(of: store.path).size) ?? 0, apps: core.apps.count,
      downloads: downloads.values.reduce(0) { $0 + $1.count }, connections: clients.clients.count,
      memoryBytes: (memory.flatMap { Int64($0) } ?? 0) * Int64(getpagesize()))
  }
}

extension ServiceFailure {
  /// For who asked for something that is decided, and isn't written down yet.
  fileprivate static func isHeld(_ failure: ServiceFailure) -> ServiceFailure {
    var held = failure
    held.message = "this is done as soon as it can be written down: \(failure.message)"
    return held
  }
}

extension ClientRequest {
  /// Whether it asks for something that the journal has to have before it is answered.
  var changesState: Bool {
    switch self {
    case .schedule, .startForeground, .cancel, .install, .uninstall, .installation, .act, .set, .simulate: true
    case .hello, .observe, .activate, .currentDownloads, .acquireControl, .releaseControl, .apps, .downloads, .runs,
      .log,
      .watch, .unwatch, .explain, .settings, .launch, .status, .stop:
      false
    }
  }
}

enum Outrider {
  static let version = "0.1"
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

extension ServiceFailure {
  init(_ error: BundleError) {
    let status =
      switch error.code {
      case .unreadable: 66
      case .notABundle, .invalid, .unsafeContent, .tooLarge, .damagedArchive: 65
      case .groupTaken: 77
      case .noSpace, .systemRefused: 73
      case .notInstalled: 66
      }
    // All of them at once (3.3), on one line: who prints it escapes others.
    let findings = error.findings.filter { $0.severity == .error }
    let reason =
      findings.isEmpty
      ? error.reason : "isn't an app that can be installed: " + findings.prefix(50).map(\.text).joined(separator: "; ")
    let remedy = findings.count == 1 ? findings[0].remedy ?? error.remedy : error.remedy
    self = .command(status, "\(error.subject): \(reason)", remedy: remedy)
  }
}
