internal import AssetModel
internal import Downloads
internal import Foundation

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
    let text = failure.detail
    switch failure.reason {
    case .challenge:
      if text.hasPrefix("the proxy ") { return proxyChallenge(text) }
      guard let advice = challenge(text) else { return text }
      return "\(text.replacingOccurrences(of: ", and nobody gave it", with: "")); \(advice)"
    case .trust: return Self.trust(text)
    case .notAllowed: return Self.notAllowed(text)
    default: return text
    }
  }

  /// The engine never sees what libcurl gives a proxy of that proxy's URL.
  private func proxyChallenge(_ text: String) -> String {
    let asks = [" and there is none", ", and nobody gave it"].reduce(text) {
      $0.replacingOccurrences(of: $1, with: "")
    }
    return hasProxyCredential
      ? "\(asks); the one in its URL was refused"
      : "\(asks); it goes into the proxy's own URL: http://NAME:PASSWORD@HOST:PORT"
  }

  private func challenge(_ text: String) -> String? {
    if text.contains("asks for a client certificate") { return "--cert FILE shows one to hosts that the command names" }
    let isBearer = text.contains("(bearer")
    guard isBearer || text.contains("(basic") || text.contains("(digest") else { return nil }
    let option = isBearer ? "--token-file" : "--user"
    guard isBearer ? hasToken : hasUser else {
      return isBearer ? "give a token with --token-file FILE" : "give one with --user NAME:PASSWORD"
    }
    let asks = origins.contains { text.contains("\($0) ") }
    return asks
      ? "what \(option) gave was refused" : "\(option) is for hosts that the command names, and this isn't one of them"
  }

  /// What OpenSSL says of an authority that isn't the right one, and of one that isn't known.
  private static let unknown = ["local issuer", "self-signed", "self signed", "first certificate"]
  private static let forged = ["asn1 encoding routines", "rsa routines", "elliptic curve routines"]

  private static func trust(_ text: String) -> String {
    if forged.contains(where: text.contains) {
      // The origin has a colon before its port, but no blank after it.
      let origin = text.range(of: ": ").map { text[..<$0.lowerBound] } ?? text[...]
      return "\(origin): its certificate isn't signed by the authority whose name it has; --cacert FILE names another"
    }
    guard unknown.contains(where: text.contains) else { return text }
    return "\(text); --cacert FILE names the authority that signed it"
  }

  private static func notAllowed(_ text: String) -> String {
    if text.contains("only names are asked") {
      let address = text.range(of: " is an address").map { text[..<$0.lowerBound] } ?? text[...]
      return "\(address) is an address, which a proxy would connect to unseen; write a name, or list it in no_proxy"
    }
    // Its last part is `ADDRESS is …`: the policy itself says whether the option would let it in.
    let last = text.range(of: ": ", options: .backwards).map { text[$0.upperBound...] } ?? text[...]
    var policy = AddressPolicy()
    guard let end = last.range(of: " is "), let address = NetworkAddress(String(last[..<end.lowerBound])),
      policy.rejectionReason(for: address) == String(last)
    else { return text }
    policy.allowsPrivate = true
    return policy.rejectionReason(for: address) == nil ? "\(text); --allow-private lets such addresses in" : text
  }
}
