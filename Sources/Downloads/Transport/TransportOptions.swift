/// What an administrator says about every request.
public struct TransportOptions: Sendable {
  /// A PEM file with further certificate authorities.
  public var authorityFile: String?
  /// `sha256//…` public key pins by host.
  public var pins: [String: [String]] = [:]
  /// How it is found out, by host, whether a certificate was taken back; a host that isn't named isn't asked about. The
  /// certificates of those that are named are never open to question.
  public var revocation: [String: RevocationCheck] = [:]
  /// `scheme://host:port` of a proxy; nil: none. The environment has no say.
  public var proxy: String?
  /// The same for plain http, where it has another: empty: none; nil: it has that one.
  public var plainProxy: String?
  /// Hosts that are asked without it, as CURLOPT_NOPROXY(3) has them: names with all beneath them, addresses, blocks, `*`.
  public var noProxy = ""
  /// Addresses that may be connected to.
  public var addresses: AddressPolicy
  /// Which hosts and ports a URL may name, apart from each download's own list.
  public var hosts: HostRules
  /// `host:port:address` entries that come before DNS; several addresses have commas between them, and a host without any
  /// (`host:port:`) isn't found.
  public var resolve: [String] = []
  /// How long the connection with its TLS handshake may take.
  public var connectTimeout: Duration = .seconds(30)
  /// The field `User-Agent` of requests.
  public var userAgent = "outrider"
  /// Is shown every head that is sent or comes, those of proxies and redirects too, on the network thread: it must not wait.
  public var observesHeads: (@Sendable (TracedHead) -> Void)?

  /// Nothing in here makes a difference between hosts, but for what the engine asks about each request.
  var treatsHostsAlike: Bool {
    proxiedSchemes.isEmpty && revocation.isEmpty && !resolve.contains { $0.hasSuffix(":") }
  }

  /// Creates the options of a transport.
  public init(addresses: AddressPolicy = AddressPolicy(), hosts: HostRules = HostRules()) {
    self.addresses = addresses
    self.hosts = hosts
  }
}

/// Whether an authority took a certificate back. Most servers send nothing about it, and no authority is asked by the way:
/// that would tell it who downloads what. So it is an administrator's choice for hosts that are known.
public enum RevocationCheck: Sendable, Equatable {
  /// The server has to send its authority's word along (OCSP stapling); no word, or an old one, counts as taken back.
  case stapledStatus
  /// A PEM file with the lists of every authority in the chain; no list, or an old one, counts as taken back.
  case list(file: String)
}
