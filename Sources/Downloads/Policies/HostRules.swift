internal import AssetModel

/// Which URLs may be asked; checked on every hop, on what libcurl's parser yields.
public struct HostRules: Sendable, Equatable {
  /// Hosts, exact or `*.example.com`; nil: any.
  public var domains: [String]?
  /// Ports that a URL may name, or that its scheme stands for.
  public var ports: Set<Int> = [443]
  /// Any port, and not only those of `ports`.
  public var allowsAnyPort = false
  /// Development: plain http, to loopback hosts only.
  public var allowsPlainHTTPToLoopback = false
  /// Every address instead of a name, and not only those listed; the address policy binds all the same.
  public var allowsAddressLiterals = false
  /// Addresses that may stand in place of a name. `domains`, where there are any, have to name them too.
  public var listedAddresses: Set<String> = []

  /// There is a proxy, but not for these hosts (as in `TransportOptions.noProxy`): it would connect to any address that it
  /// is given, and that couldn't be checked.
  var proxiedExcept: String?
  /// Those for which there is one.
  var proxiedSchemes: Set<String> = ["http", "https"]
  /// Behind a proxy: the download itself names a loopback host, which is then the proxy's own. A server that leads there
  /// would have the proxy ask itself.
  var namesLoopback = false

  /// A download's own list; both bind.
  var ownDomains: [String]?

  /// Bytes that a URL may have.
  public static let longestURL = 8192
  private static let longestHost = 253
  private static let longestLabel = 63

  /// Creates rules for https on port 443.
  public init() {}

  /// Why a URL isn't asked, or nil. One sentence that names the host and what to do.
  package func rejectionReason(for url: ParsedURL) -> String? { rejection(of: url)?.sentence() }

  /// Why a URL isn't asked, or nil.
  func rejection(of url: ParsedURL) -> Rejection? {
    let shown = Printable.text(url.host)
    if url.text.utf8.count > Self.longestURL {
      return .spelling(
        "the URL of \(shown) has \(url.text.utf8.count) bytes; at most \(Self.longestURL) are asked",
        remedy: ", so shorten it")
    }
    if url.text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }) {
      return .spelling(
        "the URL of \(shown) contains blanks or control characters", remedy: "; write them as %20 and the like")
    }
    if let rejection = rejection(ofScheme: url) { return rejection }
    if let rejection = Self.rejection(ofHost: url.host) { return rejection }
    if url.hasUserInfo { return .userInfo(host: shown) }
    let isLoopback = Self.isLoopback(url.host) && (namesLoopback || isSeen(url.host, url.scheme))
    if url.scheme == "http" {
      if isLoopback { return nil }
      return Self.isLoopback(url.host)
        ? .other("\(shown) would be the proxy's own, and a server led there; only a download that names it asks it")
        : .spelling("plain http goes to loopback hosts only, not to \(shown)", remedy: "; use https")
    }
    if isLoopback, allowsPlainHTTPToLoopback { return nil }
    if !allowsAnyPort, !ports.contains(url.port) {
      let list = ports.sorted().prefix(5).map(String.init).joined(separator: ", ")
      return .other("port \(url.port) of \(shown) isn't among those allowed (\(list)); have the policy name it")
    }
    if let ownDomains {
      var own = self
      own.domains = ownDomains
      if let rejection = own.rejection(ofListed: url.host, shown) { return rejection }
    }
    return rejection(ofListed: url.host, shown)
  }

  /// Judged before the host, which other schemes needn't have.
  private func rejection(ofScheme url: ParsedURL) -> Rejection? {
    if url.scheme == "https" || url.scheme == "http" && allowsPlainHTTPToLoopback { return nil }
    let what = url.host.isEmpty ? "the URL" : Printable.text(url.host)
    let also = allowsPlainHTTPToLoopback ? ", and http to loopback hosts" : ""
    return .spelling(
      "\(what) is to be asked by \(Printable.text(url.scheme, limit: 40)); only https is followed\(also)",
      remedy: "; use https")
  }

  private func rejection(ofListed host: String, _ shown: String) -> Rejection? {
    let isListed = domains.map { domains in domains.contains { Self.matches(host, pattern: $0) } }
    if let address = Self.address(host) {
      let isNamed =
        isListed == true || allowsAddressLiterals && isSeen(host, "https")
        || listedAddresses.contains { Self.address($0) == address }
      if !isNamed { return .addressLiteral(shown) }
    }
    guard isListed == false else { return nil }
    let wide = domains?.first { $0.utf8.starts(with: "*".utf8) && !Self.isNarrow($0) }
    let hint = wide.map { ", and \(Printable.text($0, limit: 60)) is too wide to mean anything" } ?? ""
    return .unlisted(
      "\(shown) isn't among the allowed domains (\(Self.list(domains ?? [])))\(hint); add it to the list")
  }

  /// Asked without a proxy, so that the address policy sees where it leads.
  private func isSeen(_ host: String, _ scheme: String) -> Bool {
    guard let proxiedExcept, proxiedSchemes.contains(scheme) else { return true }
    return ProxyRules.isDirect(host, noProxy: proxiedExcept)
  }

  private static func list(_ domains: [String]) -> String {
    domains.isEmpty
      ? "there are none" : Printable.text(domains.prefix(5).joined(separator: ", ")) + (domains.count > 5 ? ", …" : "")
  }

  /// Why a host is never given to a resolver, even where the rules allow it.
  private static func rejection(ofHost host: String) -> Rejection? {
    let shown = Printable.text(host)
    if host.isEmpty { return .spelling("the URL names no host", remedy: "; write one after https://") }
    if !host.utf8.allSatisfy({ $0 < 0x80 }) {
      return .spelling("\(shown) isn't ASCII", remedy: "; write the host in punycode (xn--…)")
    }
    if address(host) != nil { return nil }
    if host.utf8.last == UInt8(ascii: ".") {
      return .spelling("\(shown) ends with a dot", remedy: "; write it without")
    }
    let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isName = labels.allSatisfy { label in
      (1...longestLabel).contains(label.count) && label.allSatisfy(isNameByte) && label.first != UInt8(ascii: "-")
    }
    guard host.utf8.count <= longestHost, isName, let last = labels.last else {
      return .spelling("\(shown) isn't the name of a host", remedy: "; write letters, digits, hyphens and dots")
    }
    // No domain ends in a number, but resolvers read `0x7f.1` and `2130706433` as addresses.
    let isHexadecimal = last.starts(with: "0x".utf8) && last.dropFirst(2).allSatisfy(isHexadecimalByte)
    if isHexadecimal || last.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      return .spelling(
        "\(shown) is an address in an unusual spelling", remedy: "; write it as four decimal numbers")
    }
    return nil
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func isHexadecimalByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: false
    }
  }

  /// Exact, or `*.` for one label or more before a suffix of at least two labels.
  static func matches(_ host: String, pattern: String) -> Bool {
    let pattern = HeaderToken.lowercased(pattern)
    guard pattern.utf8.starts(with: "*".utf8) else { return host.utf8.elementsEqual(pattern.utf8) }
    let suffix = Array(pattern.utf8.dropFirst())
    return isNarrow(pattern) && host.utf8.count > suffix.count && host.utf8.suffix(suffix.count).elementsEqual(suffix)
      && address(host) == nil
  }

  /// Whether a pattern with an asterisk leaves at least two labels fixed: `*.com` would be everyone's.
  private static func isNarrow(_ pattern: String) -> Bool {
    let labels = pattern.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return labels.count >= 3 && labels[0].elementsEqual("*".utf8) && labels.dropFirst().allSatisfy { !$0.isEmpty }
  }

  static func address(_ host: String) -> NetworkAddress? {
    guard host.utf8.first == UInt8(ascii: "[") else { return NetworkAddress(host) }
    return host.utf8.last == UInt8(ascii: "]") ? NetworkAddress(String(host.dropFirst().dropLast())) : nil
  }

  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    return address(host).flatMap(SpecialAddresses.kind) == .loopback
  }
}
