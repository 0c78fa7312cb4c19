internal import AppBundles
internal import AssetModel
internal import Basics
internal import Downloads
internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol

/// What apps and runs of their extensions ask of the service.
final class AppRequests {
  private let clients: ClientRegistry
  private let calls: OpenCalls
  private let decider: Decider
  private let downloads: DownloadTable
  private let transfers: Transfers
  private let isDevelopment: Bool
  /// Of the exclusive control that runs hold or wait for.
  private var controlTokens: [Int64: UInt64] = [:]

  init(
    clients: ClientRegistry, calls: OpenCalls, decider: Decider, downloads: DownloadTable, transfers: Transfers,
    isDevelopment: Bool
  ) {
    self.clients = clients
    self.calls = calls
    self.decider = decider
    self.downloads = downloads
    self.transfers = transfers
    self.isDevelopment = isDevelopment
  }

  // MARK: Apps

  func perform(_ content: ClientRequest, of app: String, _ id: ConnectionID, _ request: UInt64) {
    func answer(_ result: Result<Reply, ServiceFailure>) { clients.answer(id, request, result) }
    if content.changesState, let failure = decider.journalFailure {
      return answer(.failure(.framework(102, failure.message)))
    }
    let caller = DownloadRegistry.Caller.app(connection: id.number, isActive: clients[id]?.isActive ?? true)
    switch content {
    case .observe(let isObserving):
      clients[id]?.isObserving = isObserving
      decider.process(
        .app(app, .router(.observing(recipient: .connection(id.number), isObserving: isObserving))))
      answer(.success(.done))
    case .activate(let isActive):
      clients[id]?.isActive = isActive
      answer(.success(.done))
    case .currentDownloads: answer(.success(.downloads(downloads.current(of: app))))
    case .schedule(let value):
      schedule(value, isNew: true, of: app, id, request) { .schedule(call: $0, download: $1, caller: caller) }
    case .startForeground(let value):
      let state = DownloadRegistry.State(rawValue: value.state) ?? .created
      schedule(value, isNew: state == .created, of: app, id, request) {
        .startForeground(call: $0, download: $1, state: state, caller: caller)
      }
    case .cancel(let identifier, let unique):
      let call = calls.begin(id, request)
      let state = downloads[app]?[unique]?.entry?.state ?? .created
      decider.process(
        .app(
          app,
          .registry(
            .cancel(call: call, identifier: identifier, uniqueIdentifier: unique, state: state, caller: caller))))
    case .acquireControl(let token, let timeout):
      let claim = ExclusiveControl.Claim(holder: .connection(id.number), token: token)
      calls.begin(claim, request)
      let limit = timeout.map { Duration.nanoseconds(Int64(max(0, min($0, 3e9)) * 1e9)) }
      decider.process(.app(app, .control(.requested(claim, timeout: limit))))
    case .releaseControl(let token):
      decider.process(.app(app, .control(.released(.init(holder: .connection(id.number), token: token)))))
      answer(.success(.done))
    default:
      answer(.failure(.framework(55, "an app may not ask that", remedy: "use the command outrider")))
    }
  }

  /// A download that has ended is scheduled again as another one (B47): the engine has a result under the old name, and
  /// a recipient may be told of that at this moment.
  func renewed(_ value: DownloadValue, of app: String) throws(UnreadableJournal) -> DownloadValue {
    let entry = downloads[app]?[value.uniqueIdentifier]?.entry
    guard entry == nil || entry?.state == .failed,
      try transfers.record(.init(app: app, download: value.uniqueIdentifier))?.state.isTerminal == true
    else { return value }
    var value = value
    value.uniqueIdentifier = UniqueIdentifier.random()
    value.state = 0
    return value
  }

  /// Checked as what an extension hands over is; the machines have the last word. `isNew`: it isn't meant to be there already.
  private func schedule(
    _ asked: DownloadValue, isNew: Bool, of app: String, _ id: ConnectionID, _ request: UInt64,
    _ event: (UInt64, PlannedDownload) -> AppEvent
  ) {
    var value = asked
    do { if isNew { value = try renewed(asked, of: app) } } catch {
      return clients.answer(id, request, .failure(.framework(102, "\(error)")))
    }
    if let known = downloads[app]?[value.uniqueIdentifier], known.entry != nil {
      return decider.process(.app(app, event(calls.begin(id, request), known.value.planned)))
    }
    if value.isManifest {
      let name = Printable.text(value.identifier)
      return clients.answer(
        id, request,
        .failure(
          isNew
            ? .framework(102, "\(name) is the service's own: it is fetched before each content request")
            : .framework(101, "\(name) isn't on its way, or is complete")))
    }
    let rules = DownloadRules(
      applicationGroups: Set(decider.description(of: app)?.appGroups ?? []), request: nil,
      allowsPlainHTTPToLoopback: isDevelopment)
    if let rejection = rules.rejectionReason(for: Download(value)) {
      return clients.answer(id, request, .failure(ServiceFailure(rejection)))
    }
    value.applicationGroupIdentifier = downloads.shared.names.shared(value.applicationGroupIdentifier)
    if UUID(uuidString: value.uniqueIdentifier) == nil { value.uniqueIdentifier = UniqueIdentifier.random() }
    downloads.insert(value, of: app)
    // Who doesn't know the name that it has from now on could neither cancel nor promote it. A client of before there was such an
    // answer takes any for `done`.
    let success: Reply = value.uniqueIdentifier == asked.uniqueIdentifier ? .done : .downloads([value])
    decider.process(.app(app, event(calls.begin(id, request, success: success), value.planned)))
    downloads.removeUnlessPlanned(value.uniqueIdentifier, of: app)
  }

  // MARK: Extensions

  func schedule(_ download: Download, of app: String, run: Int64) async -> Int32 {
    var value = DownloadValue(download)
    value.uniqueIdentifier = downloads.unused(value.uniqueIdentifier, of: app)
    downloads.insert(value, of: app)
    let status = await answer(of: app) { call in
      .schedule(call: call, download: value.planned, caller: .extension(run: run, isAnswering: false))
    }
    if decider.core.apps[app]?.pace.start(of: value.uniqueIdentifier) != nil {
      downloads.change(app, value.uniqueIdentifier) {
        $0.waiting = TransferWait(
          Explanation(.retrying, remedy: "what failed each time has to be mended"))
      }
    }
    downloads.removeUnlessPlanned(value.uniqueIdentifier, of: app)
    return status
  }

  func cancel(_ identifier: String, of app: String, run: Int64) async -> Int32 {
    await answer(of: app) { call in
      .registry(
        .cancel(
          call: call, identifier: identifier, uniqueIdentifier: "", state: .created,
          caller: .extension(run: run, isAnswering: false)))
    }
  }

  private func answer(of app: String, _ event: (UInt64) -> AppEvent) async -> Int32 {
    if decider.journalFailure != nil { return 102 }
    let call = calls.newCall()
    return await calls.answer(to: call) { decider.process(.app(app, event(call))) }
  }

  func acquireControl(of app: String, run: Int64, timeout: Duration?) async -> Int32 {
    let token = calls.newCall()
    controlTokens[run] = token
    return await calls.answer(to: token) {
      decider.process(.app(app, .control(.requested(.init(holder: .run(run), token: token), timeout: timeout))))
    }
  }

  func releaseControl(of app: String, run: Int64) {
    guard let token = controlTokens.removeValue(forKey: run) else { return }
    decider.process(.app(app, .control(.released(.init(holder: .run(run), token: token)))))
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
