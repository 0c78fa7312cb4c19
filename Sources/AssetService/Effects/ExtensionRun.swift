internal import AssetModel
internal import Foundation
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import Sandbox
internal import ServiceMachines
internal import ServiceProtocol
internal import Synchronization

/// One wake of an extension: loaded, asked for its downloads or handed what waits for it, and ended.
///
/// Everything that happens is told to `report`, in order, on the run's own task.
final class ExtensionRun: Sendable {
  enum Command: Sendable {
    case finished(number: Int64, Download, path: String)
    case failed(number: Int64, Download, ErrorDescription)
    case challenge(number: Int64, Download, ChallengeDescription)
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
    case returned(number: Int64, isHandled: Bool)
    case decided(number: Int64, ChallengeDecision)
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
    let number: Int64
    if let call = command.number { await report(.calling(number: call)) }
    switch command {
    case .finished(let call, let download, let path):
      number = call
      let handover: Handover
      do throws(HostError) { handover = try await plugin.downloadFinished(download, moving: path) } catch {
        guard case .entryPointMissing = error else { throw error }
        return await report(.returned(number: call, isHandled: false))
      }
      if let failure = handover.failure { throw failure }
    case .failed(let call, let download, let error):
      number = call
      do throws(HostError) { try await plugin.downloadFailed(download, error: error) } catch {
        guard case .entryPointMissing = error else { throw error }
        return await report(.returned(number: call, isHandled: false))
      }
    case .challenge(let call, let download, let challenge):
      let decision: ChallengeDecision
      do throws(HostError) {
        decision = try await plugin.authenticationChallenge(download, challenge)
      } catch {
        guard case .entryPointMissing = error else { throw error }
        return await report(.returned(number: call, isHandled: false))
      }
      return await report(.decided(number: call, decision))
    case .end: return
    }
    await report(.returned(number: number, isHandled: true))
  }
}

extension ExtensionRun.Command {
  /// Of the occurrence that it is called for.
  fileprivate var number: Int64? {
    switch self {
    case .finished(let number, _, _), .failed(let number, _, _), .challenge(let number, _, _): number
    case .end: nil
    }
  }
}

extension HostError {
  /// The extension's own fault, and no reason to try again.
  fileprivate var isOfExtension: Bool { if case .input = self { true } else { false } }
}
