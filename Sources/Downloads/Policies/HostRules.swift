internal import AssetModel

/// Which URLs may be asked; judged on every hop, on what libcurl's parser yields.
public struct HostRules: Sendable, Equatable {
  /// Hosts, exact or `*.example.com`; nil: any.
  public var domains: [String]?
  public var ports: Set<Int> = [443]
  public var allowsAnyPort = false
  /// Development: plain http, to loopback hosts only.
  public var allowsPlainHTTPToLoopback = false
  /// Addresses instead of names, besides those listed in `domains`; the address policy binds all the same.
  public var allowsAddressLiterals = false

  public static let longestURL = 8192

  public init() {}

  /// Why a URL isn't asked, or nil.
  public func objection(to url: ParsedURL) -> String? {
    let host = url.host
    let shown = Printable.text(host)
    if url.text.utf8.count > Self.longestURL { return "the URL has more than \(Self.longestURL) bytes" }
    if url.text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }) { return "the URL contains blanks or control characters" }
    if host.isEmpty { return "the URL names no host" }
    if !host.utf8.allSatisfy({ $0 < 0x80 }) { return "\(shown) isn't ASCII; write the host in punycode (xn--…)" }
    if host.hasSuffix(".") { return "\(shown) ends with a dot; write it without" }
    if url.hasUserInfo { return "the URL of \(shown) contains a user name; give credentials when they are asked for" }
    let isLoopback = Self.isLoopback(host)
    switch url.scheme {
    case "https": break
    case "http" where allowsPlainHTTPToLoopback && isLoopback: return nil
    case "http" where allowsPlainHTTPToLoopback: return "plain http goes to loopback hosts only, not to \(shown); use https"
    default: return "\(Printable.text(url.scheme)) isn't https, and only https is asked (\(shown))"
    }
    if isLoopback, allowsPlainHTTPToLoopback { return nil }
    if !allowsAnyPort, !ports.contains(url.port) { return "port \(url.port) of \(shown) isn't among those allowed" }
    let isListed = domains?.contains { Self.matches(host, pattern: $0) }
    if Self.address(host) != nil, !allowsAddressLiterals, isListed != true {
      return "\(shown) is an address, and only names are asked unless it is listed"
    }
    if isListed == false { return "\(shown) isn't among the allowed domains (\(Self.list(domains ?? [])))" }
    return nil
  }

  private static func list(_ domains: [String]) -> String {
    domains.isEmpty ? "there are none" : Printable.text(domains.prefix(5).joined(separator: ", "))
  }

  /// Exact, or `*.` for one label or more before a suffix of at least two labels.
  static func matches(_ host: String, pattern: String) -> Bool {
    let pattern = pattern.lowercased()
    guard pattern.hasPrefix("*.") else { return host == pattern }
    let suffix = pattern.dropFirst(1)
    return suffix.dropFirst().contains(".") && host.hasSuffix(suffix) && host.utf8.count > suffix.utf8.count && address(host) == nil
  }

  static func address(_ host: String) -> NetworkAddress? {
    NetworkAddress(host.hasPrefix("[") ? String(host.dropFirst().prefix { $0 != "]" && $0 != "%" }) : host)
  }

  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host.hasSuffix(".localhost") { return true }
    switch address(host) {
    case .v4(let number)?: return number >> 24 == 127
    case .v6(let bytes)?: return bytes == [UInt8](repeating: 0, count: 15) + [1]
    case nil: return false
    }
  }
}
