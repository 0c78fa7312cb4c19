internal import AssetModel
internal import HostProtocol
internal import ServiceMachines
internal import ServiceProtocol

/// Tells delegates and extensions what happens to downloads.
final class DelegateCalls {
  private let clients: ClientRegistry
  private let runs: RunTable
  private let decider: Decider
  private let downloads: DownloadTable
  private let challenges: PendingChallenges
  private let files: DownloadFiles
  private let plan: TransferPlan

  init(
    clients: ClientRegistry, runs: RunTable, decider: Decider, downloads: DownloadTable, challenges: PendingChallenges,
    files: DownloadFiles, plan: TransferPlan
  ) {
    self.clients = clients
    self.runs = runs
    self.decider = decider
    self.downloads = downloads
    self.challenges = challenges
    self.files = files
    self.plan = plan
  }

  // MARK: Without an answer

  func notify(_ app: String, _ recipients: [Recipient], _ occurrence: EventRouter.Occurrence) {
    guard let scheduled = downloads[app]?[occurrence.uniqueIdentifier] else { return }
    for recipient in recipients {
      switch recipient {
      case .connection(let number):
        guard let event = notice(scheduled, occurrence.kind) else { continue }
        clients.send(.notify(event: event), to: ConnectionID(number: number))
      case .delegate(let run): notify(run, scheduled, occurrence.kind)
      case .entryPoint: continue
      }
    }
  }

  private func notice(_ scheduled: ScheduledDownload, _ kind: EventRouter.Kind) -> DelegateEvent? {
    switch kind {
    case .began: .began(scheduled.value)
    case .paused: .paused(scheduled.value)
    case .progress: .progress(scheduled.value, totalWritten: scheduled.received, totalExpected: scheduled.expected)
    case .challenge, .failed, .finished: nil
    }
  }

  private func notify(_ run: Int64, _ scheduled: ScheduledDownload, _ kind: EventRouter.Kind) {
    guard let active = runs[run], !active.isEnding else { return }
    var value = scheduled.value
    value.state = kind == .paused ? value.state : 2
    let download = Download(value)
    let call: DelegateCall
    switch kind {
    case .began: call = .began(download)
    case .paused: call = .paused(download)
    case .progress:
      call = .progress(download, totalWritten: scheduled.received, totalExpected: scheduled.expected)
    case .challenge, .failed, .finished: return
    }
    runs.send(.init(kind: kind, uniqueIdentifier: value.uniqueIdentifier), .notice(kind, call), to: run)
  }

  // MARK: With an answer

  func call(_ app: String, _ recipient: Recipient, _ occurrence: EventRouter.Occurrence) {
    let number = occurrence.number
    guard let scheduled = downloads[app]?[occurrence.uniqueIdentifier] else {
      // The download is gone.
      return decider.process(.app(app, .router(.dropped(number: number))))
    }
    if occurrence.kind == .finished { files.mark(plan.path(of: scheduled.value)) }
    switch recipient {
    case .connection(let connection):
      guard let event = delegateEvent(scheduled, occurrence) else { return }
      clients.send(.call(id: UInt64(number), event: event), to: ConnectionID(number: connection))
    case .entryPoint(let run), .delegate(let run):
      guard let command = command(scheduled, occurrence, for: recipient), let isEnding = runs[run]?.isEnding else {
        return decider.process(.app(app, .router(.left(recipient: recipient))))
      }
      if isEnding {
        return decider.process(.app(app, .router(.notCalled(number: number, recipient: recipient))))
      }
      runs.send(command, number: number, to: run)
    }
  }

  func withdraw(_ recipient: Recipient, _ number: Int64) {
    if case .connection(let connection) = recipient {
      clients.send(.withdraw(call: UInt64(number)), to: ConnectionID(number: connection))
    }
  }

  private func delegateEvent(
    _ scheduled: ScheduledDownload, _ occurrence: EventRouter.Occurrence
  ) -> DelegateEvent? {
    var value = scheduled.value
    switch occurrence.kind {
    case .failed:
      value.state = -1
      return .failed(value, scheduled.failure ?? .framework(0, "the download failed"))
    case .finished:
      value.state = 3
      return .finished(value, path: plan.path(of: value))
    case .challenge: return challenges[occurrence.number].map { .challenge(value, $0) }
    case .began, .paused, .progress: return nil
    }
  }

  private func command(
    _ scheduled: ScheduledDownload, _ occurrence: EventRouter.Occurrence, for recipient: Recipient
  ) -> ExtensionRun.Command? {
    let number = occurrence.number
    var value = scheduled.value
    let call: DelegateCall
    switch occurrence.kind {
    case .failed:
      value.state = -1
      let failure = scheduled.failure ?? .framework(0, "the download failed")
      call = .failed(
        Download(value),
        ErrorDescription(domain: failure.domain, code: Int64(failure.code), description: failure.message))
    case .finished:
      value.state = 3
      call = .finished(Download(value), path: plan.path(of: value))
    case .challenge:
      guard let asked = challenges[number] else { return nil }
      call = .challenge(
        Download(value),
        ChallengeDescription(
          host: asked.host, port: Int32(truncatingIfNeeded: asked.port), protocolName: asked.scheme,
          realm: asked.realm, authenticationMethod: asked.authenticationMethod,
          previousFailureCount: Int64(asked.previousFailureCount)))
    case .began, .paused, .progress: return nil
    }
    if case .delegate = recipient { return .delegate(number: number, call) }
    switch call {
    case .failed(let download, let error): return .failed(number: number, download, error)
    case .finished(let download, let path): return .finished(number: number, download, path: path)
    case .challenge(let download, let challenge): return .challenge(number: number, download, challenge)
    case .began, .paused, .progress: return nil
    }
  }
}

extension ScheduledDownload {
  fileprivate var received: Int64 { transfer.received }
  /// -1: unknown.
  fileprivate var expected: Int64 { transfer.total ?? value.fileSize ?? -1 }
}
