internal import AssetModel
internal import Downloads

/// What a person can do about a failure, where an option of the command is the answer. The engine knows of no options.
struct FetchAdvice: Sendable {
  var hasUser = false
  var hasToken = false
  /// Those that are shown a credential.
  var origins: Set<String> = []
  /// The environment's URL of the proxy has a name and a password in it.
  var hasProxyCredential = false

  /// The failure's sentence, and what to do.
  func detail(of failure: TransferFailure) -> String {
    // What became of the bytes that were there.
    let remark = Self.remark(of: failure)
    return switch failure.cause {
    case .credential(let demand): credential(demand, remark, failure)
    case .clientCertificate: "\(failure.detail); --cert FILE shows one to hosts that the command names"
    case .untrustedAuthority(let origin, isForged: true, _):
      "\(origin): its certificate isn't signed by the authority whose name it has\(remark); --cacert FILE names another"
    case .untrustedAuthority: "\(failure.detail); --cacert FILE names the authority that signed it"
    case .refusedAddress(_, let address?, _) where Self.isPrivate(address):
      "\(failure.detail); --allow-private lets such addresses in"
    case .addressLiteral(let address, let source):
      "\(FailureCause.redirection(source))\(address) is an address, which a proxy would connect to unseen\(remark); write a name, or "
        + "list it in no_proxy"
    case .digestNeeded(let why):
      "\(why)\(remark); --sha256 DIGEST, or --checksums FILE, of the bytes as they come accepts it"
    case .refusedAddress, .unlistedHost, .httpStatus, .proxy, nil: failure.detail
    }
  }

  /// What follows the sentence of a failure's cause.
  private static func remark(of failure: TransferFailure) -> Substring {
    guard let sentence = failure.cause?.sentence, failure.detail.hasPrefix(sentence) else { return "" }
    return failure.detail.dropFirst(sentence.count)
  }

  private func credential(_ demand: CredentialDemand, _ remark: Substring, _ failure: TransferFailure) -> String {
    guard let advice = demand.isProxy ? proxyCredential : originCredential(demand) else { return failure.detail }
    return "\(demand.request)\(remark); \(advice)"
  }

  /// The engine never sees what libcurl gives a proxy of that proxy's URL.
  private var proxyCredential: String {
    hasProxyCredential
      ? "the one in its URL was refused" : "it goes into the proxy's own URL: http://NAME:PASSWORD@HOST:PORT"
  }

  private func originCredential(_ demand: CredentialDemand) -> String? {
    if case .weaker = demand.outcome { return nil }
    let (option, isGiven, remedy): (String, Bool, String)
    let offersBoth = demand.scheme == .bearer && demand.others?.contains { $0 != .bearer } == true
    if offersBoth, !hasToken, !hasUser {
      return "give a token with --token-file FILE, or a name with --user NAME:PASSWORD"
    }
    switch demand.scheme {
    // The password went to one of the others.
    case .bearer where offersBoth && !hasToken: (option, isGiven, remedy) = ("--user", hasUser, "")
    case .bearer: (option, isGiven, remedy) = ("--token-file", hasToken, "give a token with --token-file FILE")
    case .basic, .digest: (option, isGiven, remedy) = ("--user", hasUser, "give one with --user NAME:PASSWORD")
    case nil: return nil
    }
    guard isGiven else { return remedy }
    return origins.contains(demand.peer)
      ? "what \(option) gave was refused" : "\(option) is for hosts that the command names, and this isn't one of them"
  }

  /// Whether the option lets the address in, which is refused without it.
  private static func isPrivate(_ text: String) -> Bool {
    guard let address = NetworkAddress(text) else { return false }
    var policy = AddressPolicy()
    let isRefused = policy.rejectionReason(for: address) != nil
    policy.allowsPrivate = true
    return isRefused && policy.rejectionReason(for: address) == nil
  }
}
