import Dispatch
internal import ServiceProtocol
import Synchronization

/// Calls the delegate, one method at a time, on the queue of the app's choice, and answers the service's calls.
final class DelegateDelivery: Sendable {
  typealias Answer = @Sendable (DelegateInbox.CallID, DelegateAnswer) -> Void

  private struct State {
    var inbox = DelegateInbox()
    var delegate = WeakDelegate()
    var queue = DispatchQueue(label: "BackgroundAssets.delegate")
    /// Whether a block is on the queue or runs: there is never a second one, so that order holds on any queue.
    var isUnderWay = false
    var challenges: [DelegateInbox.CallID: Task<Void, Never>] = [:]
    var totals = ProgressTotals()
    var told = ToldEnds()
  }

  private let state = Mutex(State())
  private let downloads: KnownDownloads
  private let answer: Answer
  /// Called when an event finds that the delegate is gone.
  private let delegateIsGone: @Sendable () -> Void

  init(
    downloads: KnownDownloads, answer: @escaping Answer, delegateIsGone: @escaping @Sendable () -> Void
  ) {
    self.downloads = downloads
    self.answer = answer
    self.delegateIsGone = delegateIsGone
  }

  var queue: DispatchQueue {
    get { state.withLock { $0.queue } }
    set { state.withLock { $0.queue = newValue } }
  }

  var waitingCount: Int { state.withLock { $0.inbox.count } }

  func set(_ delegate: (any BADownloadManagerDelegate)?) {
    let reference = WeakDelegate(delegate: delegate)
    state.withLock { $0.delegate = reference }
  }

  // MARK: What the service says

  /// Returns false if more waits than a service has reason to send.
  func accept(_ event: ServiceProtocol.DelegateEvent, call: DelegateInbox.CallID?) -> Bool {
    let (isAccepted, queue): (Bool, DispatchQueue?) = state.withLock { state in
      guard state.inbox.add(event, call: call) else { return (false, nil) }
      guard !state.isUnderWay else { return (true, nil) }
      state.isUnderWay = true
      return (true, state.queue)
    }
    queue?.async { self.deliverNext() }
    return isAccepted
  }

  func withdraw(_ call: DelegateInbox.CallID) {
    let challenge = state.withLock { state in
      state.inbox.withdraw(call) ? nil : state.challenges.removeValue(forKey: call)
    }
    challenge?.cancel()
  }

  func withdrawAll(of connection: UInt64) {
    let challenges = state.withLock { state in
      state.inbox.withdrawAll(of: connection)
      let calls = state.challenges.keys.filter { $0.connection == connection }
      return calls.compactMap { state.challenges.removeValue(forKey: $0) }
    }
    for challenge in challenges { challenge.cancel() }
  }

  // MARK: What the delegate is told

  /// One event for each block: a main queue has other work, too.
  private func deliverNext() {
    let (item, delegate) = state.withLock { state in
      (state.inbox.next(), state.delegate)
    }
    if let item { deliver(item, to: delegate.delegate) }
    let queue: DispatchQueue? = state.withLock { state in
      if state.inbox.count > 0 { return state.queue }
      state.isUnderWay = false
      return nil
    }
    queue?.async { self.deliverNext() }
  }

  private func deliver(_ item: DelegateInbox.Item, to delegate: (any BADownloadManagerDelegate)?) {
    guard let delegate else {
      if let call = item.call { answer(call, .unhandled) }
      return delegateIsGone()
    }
    let value = item.event.download
    let isHandled: Bool
    switch item.event {
    case .began:
      state.withLock { $0.told.remove(value.uniqueIdentifier) }
      let download = downloads.object(for: value, state: .downloading)
      isHandled = DelegateEvent.isHandled { delegate.downloadDidBegin(download) }
    case .paused:
      let download = downloads.object(for: value)
      isHandled = DelegateEvent.isHandled { delegate.downloadDidPause(download) }
    case .progress(_, let total, let expected):
      let download = downloads.object(for: value)
      let written = state.withLock { $0.totals.written(of: value.uniqueIdentifier, total: total) }
      // The same total again, as at the end, is nothing new.
      guard written > 0 else { return }
      isHandled = DelegateEvent.isHandled {
        delegate.download(
          download, didWriteBytes: written, totalBytesWritten: total, totalBytesExpectedToWrite: expected)
      }
    case .challenge(_, let challenge):
      return ask(delegate, about: downloads.object(for: value), challenge, for: item.call)
    case .failed(_, let failure):
      isHandled = tellOnce(.failed, of: value) {
        delegate.download($0, failedWithError: failure.error())
      }
    case .finished(_, let path):
      isHandled = tellOnce(.finished, of: value) {
        delegate.download($0, finishedWithFileURL: URL(fileURLWithPath: path, isDirectory: false))
      }
    }
    if let call = item.call { answer(call, isHandled ? .handled : .unhandled) }
  }

  /// A service that was killed before it had the answer asks again: what this process has handled, it has handled.
  private func tellOnce(
    _ end: BADownload.State, of value: DownloadValue, _ tell: (BADownload) -> Void
  ) -> Bool {
    let unique = value.uniqueIdentifier
    let isRepeated = state.withLock { state in
      state.totals.end(unique)
      return state.told.contains(end, of: unique)
    }
    if isRepeated { return true }
    let download = downloads.object(for: value, state: end)
    guard DelegateEvent.isHandled(delivering: { tell(download) }) else { return false }
    state.withLock { $0.told.insert(end, of: unique) }
    return true
  }

  /// The next events don't wait for the answer: a person may have to type a password.
  private func ask(
    _ delegate: any BADownloadManagerDelegate, about download: BADownload, _ value: ChallengeValue,
    for call: DelegateInbox.CallID?
  ) {
    guard let call else { return }
    let question = ChallengeQuestion(
      delegate: delegate, download: download, challenge: URLAuthenticationChallenge(value))
    state.withLock { state in
      // Under the lock, so that it is in the table before it can be over.
      state.challenges[call] = Task(executorPreference: QueueExecutor(state.queue)) {
        let reply = await question.ask()
        let isAwaited = self.state.withLock { $0.challenges.removeValue(forKey: call) != nil }
        if isAwaited { self.answer(call, reply) }
      }
    }
  }
}

/// @unchecked: only the reference crosses threads; what is behind it is called on the delegate's queue alone.
struct WeakDelegate: @unchecked Sendable {
  weak var delegate: (any BADownloadManagerDelegate)?
}

/// @unchecked: the delegate is called where its author wants it; see `BADownloadManager.delegateQueue`.
private struct ChallengeQuestion: @unchecked Sendable {
  let delegate: any BADownloadManagerDelegate
  let download: BADownload
  let challenge: URLAuthenticationChallenge

  func ask() async -> DelegateAnswer {
    var disposition = URLSession.AuthChallengeDisposition.performDefaultHandling
    var credential: URLCredential?
    let isAnswered = await DelegateEvent.isAnswered {
      (disposition, credential) = await delegate.download(download, didReceive: challenge)
    }
    guard isAnswered else { return .unhandled }
    return .challenge(
      ChallengeReply(disposition: disposition.rawValue, user: credential?.user, password: credential?.password))
  }
}
