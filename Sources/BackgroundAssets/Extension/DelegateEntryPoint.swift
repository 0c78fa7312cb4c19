import CExtension
import Synchronization

/// The entry point by which the host tells the delegate that this extension has set.
enum DelegateEntryPoint {
  private static let totals = Mutex(ProgressTotals())

  static let function: ba_delegate_event_function = { host, event in
    guard let event, event.pointee.size >= UInt32(MemoryLayout<ba_delegate_event>.size),
      let (_, host) = EntryPoints.begin(host)
    else { return BA_FAILED }
    defer { EntryPoints.finish() }
    guard let delegate = BADownloadManager.shared.delegate else {
      host.observe(false)
      return BA_UNHANDLED
    }
    return tell(delegate, event.pointee, host)
  }

  private static func tell(
    _ delegate: any BADownloadManagerDelegate, _ event: ba_delegate_event, _ host: Host
  ) -> ba_status {
    guard let download = EntryPoints.copied(event.download, state: state(in: event)) else { return BA_FAILED }
    let unique = download.record.uniqueIdentifier
    let isHandled: Bool
    switch event.kind {
    case BA_EVENT_BEGAN: isHandled = DelegateEvent.isHandled { delegate.downloadDidBegin(download) }
    case BA_EVENT_PAUSED: isHandled = DelegateEvent.isHandled { delegate.downloadDidPause(download) }
    case BA_EVENT_PROGRESS:
      let total = event.total_written
      let written = totals.withLock { $0.written(of: unique, total: total) }
      // The same total again, as at the end, is nothing new.
      guard written > 0 else { return BA_OK }
      isHandled = DelegateEvent.isHandled {
        delegate.download(
          download, didWriteBytes: written, totalBytesWritten: total, totalBytesExpectedToWrite: event.total_expected)
      }
    case BA_EVENT_CHALLENGE: return ask(delegate, about: download, event, host)
    case BA_EVENT_FAILED:
      guard let error = event.error, error.pointee.size >= UInt32(MemoryLayout<ba_error>.size) else { return BA_FAILED }
      totals.withLock { $0.end(unique) }
      let failure = download.record.explaining(error.pointee.value)
      isHandled = DelegateEvent.isHandled { delegate.download(download, failedWithError: failure) }
    case BA_EVENT_FINISHED:
      guard let path = event.path else { return BA_FAILED }
      totals.withLock { $0.end(unique) }
      let file = URL(fileURLWithPath: String(cString: path), isDirectory: false)
      isHandled = DelegateEvent.isHandled { delegate.download(download, finishedWithFileURL: file) }
    // Of a newer host.
    default: isHandled = false
    }
    return isHandled ? BA_OK : BA_UNHANDLED
  }

  private static func state(in event: ba_delegate_event) -> BADownload.State? {
    switch event.kind {
    case BA_EVENT_BEGAN, BA_EVENT_PROGRESS: .downloading
    case BA_EVENT_FAILED: .failed
    case BA_EVENT_FINISHED: .finished
    default: nil
    }
  }

  private static func ask(
    _ delegate: any BADownloadManagerDelegate, about download: BADownload, _ event: ba_delegate_event, _ host: Host
  ) -> ba_status {
    guard let challenge = event.challenge, challenge.pointee.size >= UInt32(MemoryLayout<ba_challenge>.size),
      let answer = event.answer, answer.pointee.size >= UInt32(MemoryLayout<ba_challenge_answer>.size)
    else { return BA_FAILED }
    let question = DelegateQuestion(
      delegate: delegate, download: download, challenge: URLAuthenticationChallenge(copying: challenge.pointee))
    let reply = Blocking.run { await question.ask() }
    guard let reply else { return BA_UNHANDLED }
    return answer.pointee.fill(reply.disposition, reply.credential, for: download, host)
  }
}

/// @unchecked: the thread that calls waits until `ask` has returned, so only one of the two ever uses the delegate.
private struct DelegateQuestion: @unchecked Sendable {
  struct Reply: Sendable {
    var disposition: URLSession.AuthChallengeDisposition
    var credential: URLCredential?
  }

  let delegate: any BADownloadManagerDelegate
  let download: BADownload
  let challenge: URLAuthenticationChallenge

  /// nil: the delegate doesn't implement the method.
  func ask() async -> Reply? {
    var reply = Reply(disposition: .performDefaultHandling)
    let isAnswered = await DelegateEvent.isAnswered {
      (reply.disposition, reply.credential) = await delegate.download(download, didReceive: challenge)
    }
    return isAnswered ? reply : nil
  }
}
