internal import AssetModel

/// Where a redirect may lead (RFC 9110, 15.4), and with which request.
enum RedirectPolicy {
  /// Requests of one chain, the first not counted.
  static let longestChain = 10

  enum Decision: Equatable {
    /// At a change of origin nothing goes along that was meant for the first. `becomesGet`: without the body, either.
    case follow(ParsedURL, dropsCredentials: Bool, becomesGet: Bool = false)
    case refuse(TransferFailure)
  }

  /// `setsCookie`: the next request carries another cookie than those before, so that a place that was asked already may
  /// answer otherwise. Only the length of the chain ends that.
  ///
  /// `method`, `hasBody`: of the request that was answered so.
  static func decide(
    status: Int, method: String = "GET", hasBody: Bool = false, location: [String], from: ParsedURL,
    visited: [ParsedURL], rules: HostRules, setsCookie: Bool = false
  ) -> Decision {
    let source = Printable.text(from.redacted)
    func refuse(_ reason: TransferFailure.Reason, _ detail: String, _ cause: FailureCause? = nil) -> Decision {
      .refuse(TransferFailure(reason, status: status, hop: visited.count + 1, cause: cause, detail: detail))
    }
    guard [301, 302, 303, 307, 308].contains(status) else {
      return refuse(.refused, "\(source) answered \(status), which leads nowhere")
    }
    if visited.count >= longestChain {
      return refuse(.refused, "more than \(longestChain) redirects, the last from \(source)")
    }
    guard let target = location.first else {
      return refuse(.refused, "\(source) redirects without saying where", .httpStatus(status))
    }
    guard location.allSatisfy({ $0.utf8.elementsEqual(target.utf8) }) else {
      return refuse(.hostileResponse, "\(source) redirects to several places at once")
    }
    // The same document (RFC 3986, 4.4): it was asked for already.
    if target.isEmpty || target.hasPrefix("#") {
      return refuse(.refused, "\(source) redirects to itself")
    }
    if target.utf8.count > HostRules.longestURL {
      return refuse(.hostileResponse, "\(source) redirects to a URL without end")
    }
    if target.utf8.contains(where: HeaderToken.isControl) {
      return refuse(.hostileResponse, "\(source) redirects with control characters")
    }
    // What stood there was lost before it was sent; the place would be another one.
    if target.unicodeScalars.contains("\u{fffd}") {
      return refuse(.hostileResponse, "\(source) redirects with the sign for a character that was lost")
    }
    let url: ParsedURL
    do throws(ParsedURL.Failure) { url = try ParsedURL(target, relativeTo: from) } catch {
      return refuse(.refused, "\(source) redirects to what is no URL: \(Printable.text(shown(target)))")
    }
    let becomesGet = (method != "GET" || hasBody) && (status == 303 || status < 303 && method == "POST")
    if !setsCookie, !becomesGet, visited.contains(url) || url == from {
      return refuse(.refused, "the redirects go round in a circle at \(Printable.text(url.redacted))")
    }
    if from.scheme == "https", url.scheme != "https" {
      return refuse(.notAllowed, "\(source) redirects from https to \(Printable.text(url.scheme, limit: 40))")
    }
    if let rejection = rules.rejection(of: url) {
      return refuse(.notAllowed, rejection.sentence(redirectedBy: source), rejection.cause(redirectedBy: source))
    }
    // What it says is meant for whom it was sent to.
    if method != "GET" || hasBody, !becomesGet, url.origin != from.origin {
      return refuse(
        .notAllowed,
        "\(source) redirects a \(method) request to \(Printable.text(url.origin)); it isn't repeated elsewhere")
    }
    return .follow(url, dropsCredentials: url.origin != from.origin, becomesGet: becomesGet)
  }

  /// Of what can't be read as a URL: neither a query nor a fragment, which carry tokens, nor what may be a user's name and password.
  static func shown(_ target: String) -> String {
    let text = target.unicodeScalars.prefix { $0 != "?" && $0 != "#" }
    guard target.unicodeScalars.contains("@") else { return String(text) }
    // One behind the query's mark may end a password that has this mark in it.
    return text.lastIndex(of: "@").map { "(hidden)" + String(text[$0...]) } ?? "(hidden)"
  }

  /// Whether it is plain where its authority ends (RFC 3986, 3.2): after the two slashes, or there is none.
  static func isWrittenAsAddress(_ target: String) -> Bool {
    let (text, slashes) = (target.unicodeScalars, "//".unicodeScalars)
    return !text.contains { $0 == "\\" || $0 == " " || $0 == "\t" } && text.firstRange(of: "///".unicodeScalars) == nil
      && (text.first == "/" || text.firstRange(of: slashes) != nil)
  }
}

extension ParsedURL {
  /// A URL as people see it, fit for a terminal: without what its query, its fragment or its user says, also where it is none.
  package static func shown(_ text: String) -> String {
    Printable.text((try? ParsedURL(text))?.redacted ?? RedirectPolicy.shown(text))
  }
}
