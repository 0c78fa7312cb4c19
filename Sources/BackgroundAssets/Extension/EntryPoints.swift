import CExtension

/// The C functions of the extension's table: each turns the ABI's structs into Swift values and calls the extension.
///
/// A struct that is smaller than this library knows it comes from a broken host, and the call is refused.
enum EntryPoints {
  static let contentRequest: ba_content_request_function = { host, request in
    guard let request, request.pointee.size >= UInt32(MemoryLayout<ba_content_request>.size),
      let kind = BAContentRequest(rawValue: Int(request.pointee.kind)), let (target, host) = begin(host)
    else { return BA_FAILED }
    defer { finish() }
    let downloads = ContentRequestInProgress.during {
      target.downloads(
        for: kind, manifestURL: URL(fileURLWithPath: request.pointee.manifest_path.text, isDirectory: false),
        extensionInfo: BAAppExtensionInfo(request.pointee))
    }
    for download in downloads.inOrder {
      let status = host.answer(download)
      // The others go on: the host reports this one to failedWithError.
      if status != BA_OK {
        let refusal = FrameworkError.answered(
          status, to: "Adding the download '\(download.record.identifier)'", fallback: .downloadFailedToStart)
        host.log(BA_LOG_ERROR, download.record.violation?.localizedDescription ?? refusal.localizedDescription)
      }
    }
    return BA_OK
  }

  static let downloadFinished: ba_download_finished_function = { host, download, path in
    guard let download = copied(download, state: .finished), let path, let (target, _) = begin(host) else {
      return BA_FAILED
    }
    let file = URL(fileURLWithPath: String(cString: path), isDirectory: false)
    target.backgroundDownload(download, finishedWithFileURL: file)
    finish()
    return BA_OK
  }

  static let downloadFailed: ba_download_failed_function = { host, download, error in
    guard let download = copied(download, state: .failed), let error,
      error.pointee.size >= UInt32(MemoryLayout<ba_error>.size), let (target, _) = begin(host)
    else { return BA_FAILED }
    target.backgroundDownload(download, failedWithError: download.record.explaining(error.pointee.value))
    finish()
    return BA_OK
  }

  static let authenticationChallenge: ba_authentication_challenge_function = { host, download, challenge, answer in
    guard let download = copied(download, state: nil), let challenge, let answer,
      challenge.pointee.size >= UInt32(MemoryLayout<ba_challenge>.size),
      answer.pointee.size >= UInt32(MemoryLayout<ba_challenge_answer>.size), let (target, host) = begin(host)
    else { return BA_FAILED }
    let question = URLAuthenticationChallenge(copying: challenge.pointee)
    defer { finish() }
    let call = ChallengeCall(target: target, download: download, challenge: question)
    let (disposition, credential) = Blocking.run { await call.ask() }
    return answer.pointee.fill(disposition, credential, for: download, host)
  }

  static let willTerminate: ba_will_terminate_function = { host in
    guard let (target, _) = begin(host) else { return }
    LastCall.announce(to: target)
    finish()
  }

  static func begin(_ table: UnsafePointer<ba_host>?) -> (any BADownloaderExtension, Host)? {
    ba_set_current_host(table)
    guard let host = Host.current, let target = ExtensionRegistry.current else { return nil }
    return (target, host)
  }

  /// Before the host is told that the entry point has returned, since it may then end the process.
  static func finish() {
    OutstandingWork.waitForAll()
    Preferences.save()
  }

  static func copied(_ download: UnsafePointer<ba_download>?, state: BADownload.State?) -> BADownload? {
    guard let download, download.pointee.size >= UInt32(MemoryLayout<ba_download>.size) else { return nil }
    return .copied(from: download, state: state)
  }
}

/// @unchecked: the thread that calls waits until `ask` has returned, so only one of the two ever uses the extension.
private struct ChallengeCall: @unchecked Sendable {
  let target: any BADownloaderExtension
  let download: BADownload
  let challenge: URLAuthenticationChallenge

  func ask() async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    await target.backgroundDownload(download, didReceive: challenge)
  }
}

extension Set<BADownload> {
  /// Highest priority first, then by identifier: a set has no order, and answers should be the same each time.
  fileprivate var inOrder: [BADownload] {
    sorted { ($1.record.priority, $0.record.identifier) < ($0.record.priority, $1.record.identifier) }
  }
}

/// Calls the deprecated requirement without a warning: what is called through a protocol isn't checked for deprecation.
private protocol Announcing {
  static func announce(to target: any BADownloaderExtension)
}

private enum LastCall {
  static func announce(to target: any BADownloaderExtension) {
    let announcer: any Announcing.Type = Deprecated.self
    announcer.announce(to: target)
  }

  private enum Deprecated: Announcing {
    @available(*, deprecated)
    static func announce(to target: any BADownloaderExtension) { target.extensionWillTerminate() }
  }
}
