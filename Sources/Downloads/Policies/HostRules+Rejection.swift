internal import AssetModel

extension HostRules {
  /// Why a URL isn't asked.
  enum Rejection: Equatable {
    /// It has this address where only names are asked.
    case addressLiteral(String)
    /// The list of allowed hosts hasn't got it. One sentence, as of others.
    case unlisted(String)
    /// What is against it, with the host's name, and what who wrote the URL can do.
    case spelling(String, remedy: String)
    /// It has a user's name or password, which a message never shows.
    case userInfo(host: String)
    /// One sentence that names the host and what to do.
    case other(String)

    /// `source`: the URL that led there, if one did.
    func sentence(redirectedBy source: String? = nil) -> String {
      switch self {
      case .addressLiteral(let address): FailureCause.addressLiteral(address: address, redirectedBy: source).sentence
      // A server wrote it then.
      case .spelling(let text, let remedy):
        source.map { "\($0) redirects to what isn't asked: \(text)" } ?? "\(text)\(remedy)"
      case .userInfo(let host):
        source.map {
          "\($0) redirects to \(host) with a user name or password in the URL; credentials of a redirect "
            + "aren't sent, so ask for the URL at \(host) itself, without them"
        }
          ?? "the URL of \(host) contains a user name; leave it out, and give credentials when the server asks "
          + "(outrider fetch: --user)"
      case .unlisted(let text), .other(let text): FailureCause.redirection(source) + text
      }
    }

    /// What later decisions go by.
    func cause(redirectedBy source: String? = nil) -> FailureCause? {
      switch self {
      case .addressLiteral(let address): .addressLiteral(address: address, redirectedBy: source)
      case .unlisted: .unlistedHost(why: sentence(redirectedBy: source))
      case .spelling, .userInfo, .other: nil
      }
    }
  }
}
