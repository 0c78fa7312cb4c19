extension URLAuthenticationChallenge {
  /// - Parameters:
  ///   - realm: Empty if the server named none.
  ///   - method: Empty for the default one.
  convenience init(host: String, port: Int, protocol: String, realm: String, method: String, failures: Int) {
    self.init(
      protectionSpace: URLProtectionSpace(
        host: host, port: port, protocol: `protocol`, realm: realm.isEmpty ? nil : realm,
        authenticationMethod: method.isEmpty ? NSURLAuthenticationMethodDefault : method),
      proposedCredential: nil, previousFailureCount: failures, failureResponse: nil, error: nil, sender: UnusedSender())
  }
}

/// The answer is what the app's or extension's function returns; the calls of the older protocol have no effect.
private final class UnusedSender: NSObject, URLAuthenticationChallengeSender {
  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
  func cancel(_ challenge: URLAuthenticationChallenge) {}
  func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
