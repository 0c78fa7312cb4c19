internal import AppBundles
internal import AssetModel
internal import Downloads
internal import Foundation
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import Sandbox
internal import ServiceMachines
internal import ServiceProtocol

/// Starts runs of extensions, takes what they say, and ends them.
final class ExtensionRuns {
  private let host: PluginHost
  private let runs: RunTable
  private let decider: Decider
  private let downloads: DownloadTable
  private let catalog: AppCatalog
  private let challenges: PendingChallenges
  private let answers: ContentAnswers
  private let freshAnswers: AccessRenewal
  private let news: ServiceNews
  private let thread: ServiceThread
  private let isDevelopment: Bool
  /// Who waits until no run is left.
  private var waiter: CheckedContinuation<Void, Never>?

  init(
    host: PluginHost, runs: RunTable, decider: Decider, downloads: DownloadTable, catalog: AppCatalog,
    challenges: PendingChallenges, answers: ContentAnswers, freshAnswers: AccessRenewal, news: ServiceNews,
    thread: ServiceThread, isDevelopment: Bool
  ) {
    self.host = host
    self.runs = runs
    self.decider = decider
    self.downloads = downloads
    self.catalog = catalog
    self.challenges = challenges
    self.answers = answers
    self.freshAnswers = freshAnswers
    self.news = news
    self.thread = thread
    self.isDevelopment = isDevelopment
  }

  /// `generation` and `request`: of a content request; nil: callbacks. `version`: of the bundle; nil: the one that counts.
  func start(
    _ app: String, _ number: Int64, generation: Int? = nil, request: ContentRequestKind? = nil, version: String? = nil
  ) {
    guard let machines = decider.core.apps[app],
      let bundle = version.flatMap({ catalog[app, $0] }) ?? decider.current(app), let service = thread.service
    else { return decider.process(.app(app, .runEnded(run: number, end: .hostFailed))) }
    let groups = bundle.description.extensionAppGroups
    let paths = catalog.containers(of: groups)
    let containers = groups.compactMap { group in
      paths[group].map { PluginHost.LoadOptions.Container(group: group, path: $0) }
    }
    let manifest = generation.flatMap { machines.manifests[$0] }.flatMap { downloads[app]?[$0] }
    let limits = limits(of: app)
    let run = ExtensionRun(
      .init(
        run: number, app: app, library: bundle.extensionPath, request: request,
        manifest: manifest.map { catalog.plan.path(of: $0.value) }, containers: containers,
        services: ServiceEndpoint(
          service: service, app: app, run: number, allowsPlainHTTPToLoopback: isDevelopment),
        limits: limits,
        remaining: machines.restrictions.remaining, essentialRemaining: machines.restrictions.essentialRemaining,
        rules: DownloadRules(
          applicationGroups: Set(groups), request: request, allowsPlainHTTPToLoopback: isDevelopment)))
    let summary = RunSummary(
      app: app, id: number, request: request.map(Words.name) ?? "callbacks", startedAt: Timestamp.text(Date()),
      outcome: .init(kind: RunSummary.Outcome.runningKind, detail: ""),
      usage: .init(wallSeconds: 0, cpuSeconds: 0, peakMemoryBytes: 0),
      limits: [
        "wall": limits.wallTime / .seconds(1), "cpu": limits.cpu / .seconds(1), "memory": Double(limits.memory),
      ], downloads: .init(accepted: 0, rejected: []), denials: [], log: [])
    runs[number] = ActiveRun(run: run, app: app, generation: generation, summary: summary)
    news.record(summary)
    news.log(app, "wake", "run \(number), \(summary.request)")
    Task { [host, thread] in
      await run.run(in: host) { [thread] in await thread.service?.extensionSays($0, run: number) }
    }
  }

  private func limits(of app: String) -> Limits {
    var limits = Limits()
    let settings = decider.core.settings[app]
    if let wall = settings.callLimit { limits.wallTime = wall }
    if let memory = settings.memory { limits.memory = Int(memory) }
    return limits
  }

  func received(_ number: Int64, _ news: ExtensionRun.News) {
    guard let run = runs[number] else { return }
    let app = run.app
    if case .answered = news, decider.core.apps[app]?.lifecycle.active?.run != number { return }
    switch news {
    case .answered(let verdict): answers.take(verdict, of: app, run: number)
    case .ready:
      runs[number]?.isReady = true
      decider.process(.app(app, .router(.extensionReady(run: number))))
    case .calling(let call): runs[number]?.begun.insert(call)
    case .returned(let call, let recipient, let isHandled):
      runs[number]?.calls.remove(call)
      decider.process(.app(app, .router(.answered(number: call, recipient: recipient, isHandled: isHandled))))
    case .decided(let call, let recipient, let decision):
      runs[number]?.calls.remove(call)
      challenges.take(ChallengeAnswer(decision), to: call)
      decider.process(.app(app, .router(.answered(number: call, recipient: recipient, isHandled: true))))
    case .noticed(let kind, let unique): runs[number]?.notices.remove(.init(kind: kind, uniqueIdentifier: unique))
    case .ended(let report): ended(number, run, report)
    }
  }

  /// An extension has set a delegate, or taken it away (B31).
  func observe(_ isObserving: Bool, app: String, run: Int64) {
    guard let active = runs[run], !active.isEnding else { return }
    decider.process(.app(app, .router(.observing(recipient: .delegate(run: run), isObserving: isObserving))))
  }

  // MARK: Ends

  /// A run that takes callbacks has done its work when nothing is left for it; to be asked when no action is. While the
  /// journal can't be written, some are.
  func endIdle() {
    guard decider.journalFailure == nil else { return }
    for (number, run) in runs.runs where run.isReady && run.calls.isEmpty { end(number) }
  }

  func endAll(of app: String) {
    for (number, run) in runs.runs where run.app == app { end(number) }
  }

  /// What it would be called for from now on waits for the next run: it may be gone by then.
  func end(_ number: Int64) {
    guard let run = runs[number], !run.isEnding else { return }
    runs[number]?.isEnding = true
    run.run.send(.end)
    decider.process(.app(run.app, .router(.extensionEnding(run: number))))
  }

  /// Only what an extension had begun with can be what it ended in (B13).
  private func requeueUncalled(_ number: Int64, _ run: ActiveRun) {
    let uncalled = (decider.core.apps[run.app]?.router.calls ?? []).filter {
      !run.begun.contains($0.occurrence.number)
    }
    for recipient in [Recipient.entryPoint(run: number), .delegate(run: number)] {
      decider.process(
        uncalled.filter { $0.pending.contains(recipient) }.map {
          .app(run.app, .router(.notCalled(number: $0.occurrence.number, recipient: recipient)))
        })
    }
  }

  private func ended(_ number: Int64, _ run: ActiveRun, _ report: RunReport) {
    runs[number] = nil
    requeueUncalled(number, run)
    // A host that is stopped reports that it failed, and nobody did.
    let end = decider.isClosed ? .interrupted : RunEnd(rawValue: report.outcome.kind.rawValue) ?? .interrupted
    var summary = Summaries.run(
      number, run.app, request: run.summary.request, startedAt: run.summary.startedAt, report)
    summary.limits = run.summary.limits
    summary.downloads = run.summary.downloads
    if decider.isClosed {
      summary.outcome = .init(kind: end.rawValue, detail: "the service was stopped during the run")
    }
    news.record(summary)
    let outcome = [summary.outcome.kind, summary.outcome.detail].filter { !$0.isEmpty }.joined(separator: " ")
    news.log(run.app, "ended", "run \(number): \(outcome)")
    decider.process(.planner(.ended(run: number, runtime: .seconds(report.usage.wallSeconds), end: end)))
    decider.process(.app(run.app, .runEnded(run: number, end: end)))
    if run.generation != nil, end != .returned { freshAnswers.giveUp(of: run.app) }
    if runs.isEmpty { stopWaiting() }
  }

  /// Returns when all runs have said that they ended, once the host was stopped; or after `patience`.
  func waitForEnds(_ timer: ServiceTimer, within patience: Duration = .seconds(2)) async {
    if runs.isEmpty { return }
    timer.set(at: BootClock.now + patience) { [weak self] in self?.stopWaiting() }
    await withCheckedContinuation { waiter = $0 }
    timer.set(at: nil) {}
  }

  private func stopWaiting() {
    waiter?.resume()
    waiter = nil
  }

  func refused(_ app: String, _ request: WakeRequest, _ refusal: WakeRefusal) {
    let name = if case .content(let kind) = request.reason { Words.name(kind) } else { "callbacks" }
    news.log(app, "refused", "\(name): \(Words.refusal(refusal.reason))")
    if case .content = request.reason { freshAnswers.giveUp(of: app) }
  }
}
