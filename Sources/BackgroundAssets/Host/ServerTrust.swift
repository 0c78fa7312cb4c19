// Foundation marks these as unavailable on Linux, and real sources ask for them in every answer to a challenge.

/// Corresponds to Apple's `SecTrust`. There is none here: the host checks a server's certificate itself, and no extension is
/// asked.
public final class SecTrust: Sendable {
  private init() {}
}

extension URLProtectionSpace {
  /// Always nil: what answers `.performDefaultHandling` then leaves the certificate to the host.
  public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
  /// For a trust. No value of that type can exist here.
  ///
  /// - Parameter trust: No value can exist.
  public convenience init(trust: SecTrust) { self.init(user: "", password: "", persistence: .none) }
}
