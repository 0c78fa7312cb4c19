internal import AssetModel
internal import HostProtocol
internal import ServiceMachines
internal import ServiceProtocol

/// Telling delegates and extensions of what happens to downloads.
extension AssetService {
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

  /// Of each kind and download, one is on its way at most: the extension may be at work with something else.
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
    let notice = ActiveRun.Notice(kind: kind, uniqueIdentifier: value.uniqueIdentifier)
    if runs[run]?.notices.insert(notice).inserted == true { active.run.send(.notice(kind, call)) }
  }

  /// An extension has set a delegate, or taken it away (B31).
  func observe(_ isObserving: Bool, app: String, run: Int64) {
    guard let active = runs[run], !active.isEnding else { return }
    process(.app(app, .router(.observing(recipient: .delegate(run: run), isObserving: isObserving))))
  }

  func call(_ app: String, _ recipient: Recipient, _ occurrence: EventRouter.Occurrence) {
    let number = occurrence.number
    guard let scheduled = downloads[app]?[occurrence.uniqueIdentifier] else {
      // Nobody knows it any more.
      return process(.app(app, .router(.dropped(number: number))))
    }
    if occurrence.kind == .finished { mark(plan.path(of: scheduled.value)) }
    switch recipient {
    case .connection(let connection):
      guard let event = delegateEvent(scheduled, occurrence) else { return }
      clients.send(.call(id: UInt64(number), event: event), to: ConnectionID(number: connection))
    case .entryPoint(let run), .delegate(let run):
      guard let command = command(scheduled, occurrence, for: recipient), runs[run] != nil else {
        return process(.app(app, .router(.left(recipient: recipient))))
      }
      if runs[run]?.isEnding == true {
        return process(.app(app, .router(.notCalled(number: number, recipient: recipient))))
      }
      runs[run]?.calls.insert(number)
      runs[run]?.run.send(command)
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
    case .challenge: return challengeValues[occurrence.number].map { .challenge(value, $0) }
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
      guard let asked = challengeValues[number] else { return nil }
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
