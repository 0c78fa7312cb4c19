internal import ServiceProtocol

extension URLAuthenticationChallenge {
  convenience init(_ value: ChallengeValue) {
    self.init(
      host: value.host, port: value.port, protocol: value.scheme, realm: value.realm,
      method: value.authenticationMethod, failures: value.previousFailureCount)
  }
}
