internal import AssetModel

/// Why a URL isn't asked.
struct RefusedURL: Error {
  var text: String
  var cause: FailureCause?
}

/// Who is asked, and by which way.
extension TransportOptions {
  func isProxied(_ url: ParsedURL) -> Bool { proxy != nil && !ProxyRules.isDirect(url.host, noProxy: noProxy) }

  /// The proxy, in messages.
  var proxyName: String { "the proxy \(ProxyRules.name(of: proxy ?? ""))" }

  /// The rules of hosts for a job: the administrator's, and the download's own list.
  func hostRules(_ specification: DownloadSpecification) -> HostRules {
    var rules = hosts
    rules.ownDomains = specification.allowedDomains
    if proxy != nil {
      rules.proxiedExcept = noProxy
      rules.namesLoopback = (try? ParsedURL(specification.url)).map { HostRules.isLoopback($0.host) } ?? false
    }
    return rules
  }

  /// One of a job's URLs, as it is asked.
  func validatedURL(_ text: String, _ specification: DownloadSpecification) throws(RefusedURL) -> ParsedURL {
    let url: ParsedURL
    do throws(ParsedURL.Failure) { url = try ParsedURL(text) } catch {
      throw RefusedURL(text: "\(Printable.text(text)) isn't a URL: \(error)")
    }
    if let rejection = hostRules(specification).rejection(of: url) {
      throw RefusedURL(text: rejection.sentence(), cause: rejection.cause())
    }
    return url
  }
}
