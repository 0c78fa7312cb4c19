// Properties of Apple's `URLRequest` that Foundation lacks on Linux. A host takes the method, the header fields and the
// body of a request; which network it uses is its own affair, and so these remember nothing.
extension URLRequest {
  /// Always true; setting it has no effect.
  public var allowsExpensiveNetworkAccess: Bool {
    get { true }
    set {}
  }

  /// Always true; setting it has no effect.
  public var allowsConstrainedNetworkAccess: Bool {
    get { true }
    set {}
  }

  /// Always false; setting it has no effect.
  public var assumesHTTP3Capable: Bool {
    get { false }
    set {}
  }

  /// Always true; setting it has no effect.
  public var allowsUltraConstrainedNetworkAccess: Bool {
    get { true }
    set {}
  }

  /// Always false; setting it has no effect.
  public var requiresDNSSECValidation: Bool {
    get { false }
    set {}
  }

  /// Always false; setting it has no effect.
  public var allowsPersistentDNS: Bool {
    get { false }
    set {}
  }

  /// Who has asked for a request.
  public enum Attribution: Int, Sendable { case developer, user }

  /// Always the developer; setting it has no effect.
  public var attribution: Attribution {
    get { .developer }
    set {}
  }
}
