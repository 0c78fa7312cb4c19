internal import AssetModel
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import Sandbox
internal import ServiceMachines
internal import ServiceProtocol

/// One wake of an extension: loaded, asked for its downloads or handed what waits for it, and ended.
///
/// Everything that happens is told to `report`, in order, on the run's own task.
final class ExtensionRun: Sendable {
  enum Command: Sendable {
    case finished(number: Int64, Download, path: String)
    case failed(number: Int64, Download, ErrorDescription)
    case challenge(number: Int64, Download, ChallengeDescription)
    /// For the delegate that the extension has set (B31). The path of a finished file is the host's.
    case delegate(number: Int64, DelegateCall)
    /// The same, without an answer.
    case notice(EventRouter.Kind, DelegateCall)
    case end
  }

  enum News: Sendable {
    /// What a content request answered, checked.
    case answered(DownloadRules.Verdict)
    /// It is loaded and takes what waits for it.
    case ready
    /// It is called now.
    case calling(number: Int64)
    /// `isHandled`: it has a function for that, which returned.
    case returned(number: Int64, by: Recipient, isHandled: Bool)
    case decided(number: Int64, by: Recipient, ChallengeDecision)
    /// Its delegate has had a notice.
    case noticed(EventRouter.Kind, uniqueIdentifier: String)
    /// The last news.
    case ended(RunReport)
  }

  struct Order: Sendable {
    var run: Int64
    var app: String
    /// The `.appex` folder.
    var library: String
    /// nil: callbacks only.
    var request: ContentRequestKind?
    var manifest: String?
    var containers: [PluginHost.LoadOptions.Container]
    var services: any ExtensionServices
    var limits: Limits
    var remaining: Int64?
    var essentialRemaining: Int64?
    var rules: DownloadRules
  }

  let order: Order
  private let commands: AsyncStream<Command>.Continuation
  private let stream: AsyncStream<Command>

  init(_ order: Order) {
    self.order = order
    (stream, commands) = AsyncStream.makeStream(of: Command.self)
  }

  func send(_ command: Command) { commands.yield(command) }

  /// Runs until it is told to end, has nothing more to do, or is ended.
  func run(in host: PluginHost, report: @Sendable (News) async -> Void) async {
    var options = PluginHost.LoadOptions()
    options.isExtension = true
    options.containers = order.containers
    options.services = order.services
    options.manifest = order.manifest
    let final: RunReport
    do throws(HostError) {
      let plugin = try await host.load(order.library, policy: Policy(limits: order.limits), options: options)
      final = await work(plugin, report)
    } catch {
      final = error.report ?? .empty(Outcome(error.isOfExtension ? .loadFailed : .hostFailed, error.description))
    }
    await report(.ended(final))
  }

  private func work(_ plugin: Plugin, _ report: @Sendable (News) async -> Void) async -> RunReport {
    do throws(HostError) {
      if let request = order.request {
        let verdict = try await plugin.contentRequest(
          request, remaining: order.remaining, essentialRemaining: order.essentialRemaining, rules: order.rules)
        await report(.answered(verdict))
      } else {
        await report(.ready)
      }
      for await command in stream {
        if case .end = command { break }
        try await perform(command, plugin, report)
      }
      if plugin.image.entryPoints.contains(where: { $0.name == "will_terminate" }) { try await plugin.willTerminate() }
    } catch {
      if let ended = error.report { return ended }
      // The host's or the container's fault, and not the extension's.
      var report = await plugin.end()
      report.outcome = Outcome(.hostFailed, error.description)
      return report
    }
    return await plugin.end()
  }

  private func perform(
    _ command: Command, _ plugin: Plugin, _ report: @Sendable (News) async -> Void
  ) async throws(HostError) {
    if let call = command.number { await report(.calling(number: call)) }
    do throws(HostError) {
      if let news = try await call(command, plugin) { await report(news) }
    } catch {
      guard case .entryPointMissing = error else { throw error }
      if let missing = news(ofMissing: command) { await report(missing) }
    }
  }

  private func call(_ command: Command, _ plugin: Plugin) async throws(HostError) -> News? {
    let entryPoint = Recipient.entryPoint(run: order.run)
    switch command {
    case .finished(let number, let download, let path):
      let handover = try await plugin.downloadFinished(download, moving: path)
      if let failure = handover.failure { throw failure }
      return .returned(number: number, by: entryPoint, isHandled: true)
    case .failed(let number, let download, let error):
      try await plugin.downloadFailed(download, error: error)
      return .returned(number: number, by: entryPoint, isHandled: true)
    case .challenge(let number, let download, let challenge):
      return .decided(
        number: number, by: entryPoint, try await plugin.authenticationChallenge(download, challenge))
    case .delegate(let number, let event): return try await tellDelegate(plugin, number, event)
    case .notice(let kind, let event):
      _ = try await plugin.tellDelegate(event)
      return .noticed(kind, uniqueIdentifier: event.download.uniqueIdentifier)
    case .end: return nil
    }
  }

  private func tellDelegate(_ plugin: Plugin, _ number: Int64, _ event: DelegateCall) async throws(HostError) -> News {
    let delegate = Recipient.delegate(run: order.run)
    switch event {
    case .challenge(let download, let challenge):
      let decision = try await plugin.askDelegate(download, challenge)
      return decision.map { .decided(number: number, by: delegate, $0) }
        ?? .returned(number: number, by: delegate, isHandled: false)
    case .finished(let download, let path):
      // The app's delegate may have taken it meanwhile.
      guard Files.exists(path) else { return .returned(number: number, by: delegate, isHandled: false) }
      let (handover, isHandled) = try await plugin.tellDelegate(finished: download, moving: path)
      if let failure = handover.failure { throw failure }
      return .returned(number: number, by: delegate, isHandled: isHandled)
    case .began, .paused, .progress, .failed:
      return .returned(number: number, by: delegate, isHandled: try await plugin.tellDelegate(event))
    }
  }

  /// It has no entry point for that: as if it had left it to others.
  private func news(ofMissing command: Command) -> News? {
    switch command {
    case .finished(let number, _, _), .failed(let number, _, _), .challenge(let number, _, _):
      .returned(number: number, by: .entryPoint(run: order.run), isHandled: false)
    case .delegate(let number, _): .returned(number: number, by: .delegate(run: order.run), isHandled: false)
    case .notice(let kind, let event): .noticed(kind, uniqueIdentifier: event.download.uniqueIdentifier)
    case .end: nil
    }
  }
}

extension ExtensionRun.Command {
  /// Of the occurrence that it is called for.
  fileprivate var number: Int64? {
    switch self {
    case .finished(let number, _, _), .failed(let number, _, _), .challenge(let number, _, _), .delegate(let number, _):
      number
    case .notice, .end: nil
    }
  }
}

extension HostError {
  /// The extension's own fault, and no reason to try again.
  fileprivate var isOfExtension: Bool { if case .input = self { true } else { false } }
}
