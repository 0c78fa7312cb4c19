extension DownloadRecord {
  /// The first rule that the download breaks, as the error with which it is rejected.
  ///
  /// The host checks the same and more, membership of the app group for one; what can be known here is refused here,
  /// because only here the description can name the value.
  var violation: NSError? {
    if identifier.isEmpty { return rejection("its identifier is empty; give it one that no other download has") }
    if let fileSize, fileSize <= 0 {
      return rejection("its file size is \(fileSize); state the exact size of the transfer, which is more than zero")
    }
    if !BADownload.Priority(priority).isValid {
      return rejection("its priority is \(priority); use a value from -100 to 100")
    }
    return hasPermittedScheme ? nil : unsupportedURL
  }

  /// Why the host won't start a download without ``violation``, if that can be told: only one in development mode takes
  /// http to this machine.
  var reasonNotToStart: NSError? {
    URLComponents(string: url)?.scheme?.lowercased() == "https" ? nil : unsupportedURL
  }

  /// A host's refusal to start the download is a number and a text, which is the one in its report; what lies under it is
  /// known here.
  func explaining(_ error: any Error) -> any Error {
    let refusal = error as NSError
    guard refusal.domain == BAErrorDomain, refusal.code == BAErrorCode.downloadFailedToStart.rawValue,
      let known = violation ?? reasonNotToStart
    else { return error }
    guard refusal.userInfo[NSLocalizedDescriptionKey] != nil else { return known }
    guard let underlying = known.userInfo[NSUnderlyingErrorKey] else { return error }
    return NSError(
      domain: refusal.domain, code: refusal.code,
      userInfo: refusal.userInfo.merging([NSUnderlyingErrorKey: underlying]) { $1 })
  }

  private var unsupportedURL: NSError {
    rejection(
      "its URL '\(url)' isn't https; serve the file over https",
      underlying: NSError(
        domain: NSURLErrorDomain, code: URLError.Code.unsupportedURL.rawValue,
        userInfo: FrameworkError.userInfo("unsupported URL")))
  }

  /// https, or http to this machine: whether the latter is allowed, only a host in development mode knows.
  private var hasPermittedScheme: Bool {
    guard let components = URLComponents(string: url), let host = components.host, !host.isEmpty else { return false }
    switch components.scheme?.lowercased() {
    case "https": return true
    case "http": return ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host.lowercased())
    default: return false
    }
  }

  private func rejection(_ reason: String, underlying: NSError? = nil) -> NSError {
    FrameworkError.make(
      .downloadFailedToStart, "The download '\(identifier)' can't start: \(reason).", underlying: underlying)
  }
}
