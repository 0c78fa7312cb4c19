internal import AssetModel

extension HostRules {
  /// Why a URL isn't asked.
  enum Rejection: Equatable {
    /// It has this address where only names are asked.
    case addressLiteral(String)
    /// One sentence that names the host and what to do.
    case other(String)

    /// `source`: the URL that led there, if one did.
    func sentence(redirectedBy source: String? = nil) -> String {
      switch self {
      case .addressLiteral(let address): FailureCause.addressLiteral(address: address, redirectedBy: source).sentence
      case .other(let text): FailureCause.redirection(source) + text
      }
    }

    /// What callers may decide by later.
    func cause(redirectedBy source: String? = nil) -> FailureCause? {
      guard case .addressLiteral(let address) = self else { return nil }
      return .addressLiteral(address: address, redirectedBy: source)
    }
  }
}
