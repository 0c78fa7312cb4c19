/// What an administrator says about every request.
public struct TransportOptions: Sendable {
  /// A PEM file with further certificate authorities.
  public var authorityFile: String?
  /// `sha256//…` public key pins by host.
  public var pins: [String: [String]] = [:]
  /// `scheme://host:port` of a proxy; nil: none. The environment has no say.
  public var proxy: String?
  /// Hosts that are asked without it, as CURLOPT_NOPROXY(3) reads them.
  public var noProxy = ""
  /// Addresses that may be connected to.
  public var addresses: AddressPolicy
  /// Which hosts and ports a URL may name, apart from each download's own list.
  public var hosts: HostRules
  /// `host:port:address` entries that come before DNS.
  public var resolve: [String] = []
  /// Seconds for the connection with its TLS handshake.
  public var connectTimeout: Duration = .seconds(30)
  public var userAgent = "outrider"

  public init(addresses: AddressPolicy = AddressPolicy(), hosts: HostRules = HostRules()) {
    self.addresses = addresses
    self.hosts = hosts
  }
}
