/// A server, proxy or certificate that wants to be answered before a download goes on.
public struct AuthenticationChallenge: Sendable, Equatable {
  /// What is asked for.
  public enum Kind: Sendable, Equatable {
    /// 401 or 407, with the scheme that would be used and its realm.
    case credentials(scheme: String, realm: String, isProxy: Bool)
    /// The certificate chain that wasn't accepted, leaf first, as PEM; `key` is `sha256//…` of the leaf.
    case serverTrust(chain: [String], problem: String)
    /// The server wants to see a client certificate; `isCertain` is false where its handshake failed without saying why.
    case clientCertificate(isCertain: Bool)

    /// For `explain`.
    var name: String {
      switch self {
      case .credentials(let scheme, _, let isProxy): isProxy ? "proxy \(scheme)" : scheme
      case .serverTrust: "server trust"
      case .clientCertificate: "client certificate"
      }
    }
  }

  /// What is asked for.
  public var kind: Kind
  /// `scheme://host:port`.
  public var origin: String
  /// The app whose download it is.
  public var app: String
  /// The app's name for the download.
  public var identifier: String
  /// How often an answer to this job's challenges was refused.
  public var previousFailureCount: Int
}

/// What is done about a challenge.
public enum ChallengeAnswer: Sendable, Equatable {
  /// No answer: the download fails, and says what was asked.
  case performDefaultHandling
  case cancel
  case credential(user: String, password: String)
  case bearer(token: String)
  /// Shown to this origin only, on connections that no other job uses.
  case clientCertificate(ClientCertificate)
  /// The chain that was shown is trusted, for this host and job only.
  case trustShownKey
}
