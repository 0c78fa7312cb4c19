internal import ServiceProtocol

extension ServiceFailure {
  /// As an app gets it. What the service says of a request names the value already; what became of the connection is put
  /// behind the call that it ended.
  func error(of operation: String? = nil) -> any Error {
    let isConnection = domain == Self.frameworkDomain && code == BAErrorCode.callerConnectionInvalid.rawValue
    let message = operation.map { isConnection ? "\($0) failed: \(description)" : description } ?? description
    var userInfo = FrameworkError.userInfo(message)
    if let remedy { userInfo[NSLocalizedRecoverySuggestionErrorKey] = remedy }
    if let underlyingDomain, let underlyingCode {
      userInfo[NSUnderlyingErrorKey] = NSError(domain: underlyingDomain, code: underlyingCode)
    }
    guard domain == NSURLErrorDomain, let urlCode = URLError.Code.known(code) else {
      return NSError(domain: domain, code: code, userInfo: userInfo)
    }
    // On Linux a cast never makes one of an `NSError`, while the way back keeps everything.
    return URLError(urlCode, userInfo: userInfo)
  }
}
