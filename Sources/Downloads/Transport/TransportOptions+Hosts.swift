internal import AssetModel

/// Why a URL isn't asked.
struct RefusedURL: Error {
  var text: String
  var cause: FailureCause?
}

/// Who is asked, and by which way.
extension TransportOptions {
  /// The proxy that a URL is asked through; nil: none.
  func proxy(for url: ParsedURL) -> String? {
    ProxyRules.isDirect(url.host, noProxy: noProxy) ? nil : proxy(of: url.scheme)
  }

  private func proxy(of scheme: String) -> String? {
    guard scheme == "http", let plainProxy else { return proxy }
    return plainProxy.isEmpty ? nil : plainProxy
  }

  /// Those that have a proxy.
  var proxiedSchemes: Set<String> { Set(["http", "https"].filter { proxy(of: $0) != nil }) }

  func isProxied(_ url: ParsedURL) -> Bool { proxy(for: url) != nil }

  /// The proxy of a URL, in messages.
  func proxyName(for url: ParsedURL) -> String { "the proxy \(ProxyRules.name(of: proxy(of: url.scheme) ?? ""))" }

  /// The rules of hosts for a job: the administrator's, and the download's own list.
  func hostRules(_ specification: DownloadSpecification) -> HostRules {
    var rules = hosts
    rules.ownDomains = specification.allowedDomains
    let proxied = proxiedSchemes
    if !proxied.isEmpty {
      (rules.proxiedExcept, rules.proxiedSchemes) = (noProxy, proxied)
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
