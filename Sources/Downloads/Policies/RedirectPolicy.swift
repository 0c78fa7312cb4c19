internal import AssetModel

/// Where a redirect may lead (RFC 9110, 15.4).
enum RedirectPolicy {
  /// Requests of one chain, the first not counted.
  static let longestChain = 10

  enum Decision: Equatable {
    /// At a change of origin nothing goes along that was meant for the first.
    case follow(ParsedURL, dropsCredentials: Bool)
    case refuse(TransferFailure)
  }

  static func decide(
    status: Int, location: [String], from: ParsedURL, visited: [ParsedURL], rules: HostRules
  ) -> Decision {
    func refuse(_ reason: TransferFailure.Reason, _ detail: String) -> Decision {
      .refuse(TransferFailure(reason, status: status, hop: visited.count + 1, detail: detail))
    }
    if visited.count >= longestChain { return refuse(.refused, "more than \(longestChain) redirects, the last from \(from.redacted)") }
    guard let target = location.first else { return refuse(.refused, "\(from.redacted) redirects without saying where") }
    guard location.allSatisfy({ $0 == target }) else { return refuse(.hostileResponse, "\(from.redacted) redirects to several places at once") }
    if target.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
      return refuse(.hostileResponse, "\(from.redacted) redirects with control characters")
    }
    let url: ParsedURL
    do throws(ParsedURL.Failure) { url = try ParsedURL(target, relativeTo: from) } catch {
      return refuse(.refused, "\(from.redacted) redirects to what is no URL: \(Printable.text(target))")
    }
    if visited.contains(url) || url == from { return refuse(.refused, "the redirects go round in a circle at \(url.redacted)") }
    if from.scheme == "https", url.scheme != "https" {
      return refuse(.notAllowed, "\(from.redacted) redirects from https to \(Printable.text(url.scheme))")
    }
    if let objection = rules.objection(to: url) { return refuse(.notAllowed, "redirected by \(from.redacted): \(objection)") }
    return .follow(url, dropsCredentials: url.origin != from.origin)
  }
}
