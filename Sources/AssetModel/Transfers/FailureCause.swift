/// What a failure was about, where a caller decides by it: what to advise, or what is said of the wait that follows. The journal
/// keeps it beside the sentence. Texts in it are fit for a terminal.
public enum FailureCause: Sendable, Hashable, Codable {
  /// The server answered with this status.
  case httpStatus(Int)
  /// A server or proxy wanted a credential.
  case credential(CredentialDemand)
  /// The server wanted a client certificate, and got none that it takes.
  case clientCertificate(origin: String)
  /// An authority that isn't trusted signed the certificate. `isForged`: the signature isn't that of the authority whose name it
  /// has. `problem`: what the TLS library says.
  case untrustedAuthority(origin: String, isForged: Bool, problem: String)
  /// The policy of addresses refused one that the host's name has, and says why.
  case refusedAddress(host: String, address: String?, reason: String)
  /// The URL has an address where only names are asked. `redirectedBy`: the URL that led there, if one did.
  case addressLiteral(address: String, redirectedBy: String?)
  /// The list of allowed hosts hasn't got the URL's. `why`: the whole sentence.
  case unlistedHost(why: String)
  /// Only a digest of the file could tell whether what came is the file. `why`: what the server did.
  case digestNeeded(why: String)
  /// The proxy failed, before a server was asked. `why`: the whole sentence.
  case proxy(why: String)

  /// The whole sentence.
  public var sentence: String {
    switch self {
    case .httpStatus(204):
      "the server answered 204: it has no content at this URL, so there is no file; check the URL"
    case .httpStatus(let status): "the server answered \(status)"
    case .credential(let demand): demand.sentence
    case .clientCertificate(let origin): "\(origin) asks for a client certificate, and was given none that it accepts"
    case .untrustedAuthority(let origin, _, let problem): "\(origin): \(problem)"
    case .refusedAddress(let host, _, let reason): "\(host): \(reason)"
    case .addressLiteral(let address, let source):
      "\(Self.redirection(source))\(address) is an address, and only names are asked; have the policy list it"
    case .unlistedHost(let why), .proxy(let why): why
    case .digestNeeded(let why): "\(why); only the file's digest, if it is declared, can tell that it is whole"
    }
  }

  /// Who led to the URL that a sentence is about.
  package static func redirection(_ source: String?) -> String { source.map { "redirected by \($0): " } ?? "" }
}

/// What a server or a proxy wanted a credential for, and what became of that.
public struct CredentialDemand: Sendable, Hashable, Codable {
  /// What became of it.
  public enum Outcome: Sendable, Hashable, Codable {
    /// Neither the caller nor the user can be asked for one.
    case nobodyToAsk(realm: String)
    /// The one who was asked, the caller or the user, gave none.
    case unanswered
    /// The one that was given was refused.
    case refused
    /// As many as are tried were refused.
    case refusedOften(times: Int)
    /// What was given is none for this scheme.
    case unfit
    /// A stronger scheme was offered before.
    case weaker(than: AuthScheme)
  }

  /// The strongest known scheme of those that were offered; nil: none is known.
  public var scheme: AuthScheme?
  /// Weaker ones that were offered beside it; nil: none were.
  public var others: [AuthScheme]?
  /// Who wants it: an origin, or what the proxy is called.
  public var peer: String
  /// Whether that is the proxy.
  public var isProxy: Bool
  /// What became of it.
  public var outcome: Outcome

  /// Creates a demand of its parts.
  public init(
    _ scheme: AuthScheme?, others: [AuthScheme]? = nil, by peer: String, isProxy: Bool, _ outcome: Outcome
  ) {
    self.scheme = scheme
    self.others = others
    self.peer = peer
    self.isProxy = isProxy
    self.outcome = outcome
  }

  /// What was wanted, without why it got none.
  public var request: String {
    guard let scheme = scheme?.rawValue else { return "\(peer) asks for a credential by no scheme that is known" }
    return switch outcome {
    case .nobodyToAsk(let realm): "\(peer) asks for a credential (\(scheme), realm \"\(realm)\")"
    case .unanswered: "\(peer) asks for a credential (\(scheme))"
    case .refused: "\(peer) refused the credential that it was given (\(scheme))"
    case .refusedOften(let times): "\(peer) refused \(times) credentials (\(scheme))"
    case .unfit: "the answer doesn't fit what \(peer) asks for (\(scheme))"
    case .weaker(let before): "\(peer) offers a weaker scheme (\(scheme)) than before (\(before.rawValue))"
    }
  }

  var sentence: String {
    switch outcome {
    case _ where scheme == nil: request
    case .nobodyToAsk: "\(request) and there is none"
    case .unanswered: "\(request), and none was given"
    case .refused, .refusedOften, .unfit, .weaker: request
    }
  }
}
