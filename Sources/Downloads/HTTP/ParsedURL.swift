internal import CCurl

/// A URL as libcurl's own parser understands it, so that what was checked is what is asked (RFC 3986).
package struct ParsedURL: Sendable, Hashable {
  package enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Why libcurl doesn't take it.
    case malformed(String)

    package var description: String {
      switch self {
      case .malformed(let why): why
      }
    }
  }

  package let scheme: String
  /// Lower case, punycode; an IPv6 literal has its brackets.
  package let host: String
  package let port: Int
  package let path: String
  package let query: String?
  package let hasUserInfo: Bool

  /// Parses an absolute URL, or one relative to `base`. The fragment is dropped.
  package init(_ text: String, relativeTo base: ParsedURL? = nil) throws(Failure) {
    // libcurl reads C strings, and would end at a NUL.
    if text.utf8.contains(0) { throw .malformed("it contains a NUL byte") }
    if Self.lacksHost(text) { throw .malformed("it names no host") }
    let handle = try CurlURL()
    if let base { try handle.set(base.text) }
    try handle.set(text)
    self.init(handle)
  }

  /// Of http and https: libcurl takes one slash and three for two, and what follows for the host (RFC 9110, 4.2.1).
  private static func lacksHost(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, ["http", "https"].contains(HeaderToken.lowercased(parts[0])) else { return false }
    return ![0, 2].contains(parts[1].prefix { $0 == UInt8(ascii: "/") }.count)
  }

  /// What libcurl understood.
  init(_ handle: borrowing CurlURL) {
    scheme = handle.part(CURLUPART_SCHEME)?.lowercased() ?? ""
    var host = handle.part(CURLUPART_HOST, UInt32(CURLU_PUNYCODE))
    if host == nil { host = handle.part(CURLUPART_HOST) }
    // Debian 12's libcurl leaves IDN to the connection; a host that isn't ASCII here has no punycode.
    self.host = (host ?? "").lowercased()
    port = handle.part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap { Int($0) } ?? 0
    path = handle.part(CURLUPART_PATH) ?? "/"
    query = handle.part(CURLUPART_QUERY)
    hasUserInfo = handle.part(CURLUPART_USER) != nil || handle.part(CURLUPART_PASSWORD) != nil
  }

  /// `scheme://host:port`: what breakers, caps and credentials are bound to.
  package var origin: String { "\(scheme)://\(host):\(port)" }

  /// Without user info and fragment; the port only where it isn't the scheme's own.
  package var text: String { "\(site)\(path)\(query.map { "?\($0)" } ?? "")" }

  /// For messages and logs: queries carry tokens.
  package var redacted: String { "\(site)\(path)\(query == nil ? "" : "?…")" }

  private var site: String {
    let usual = scheme == "https" ? 443 : scheme == "http" ? 80 : 0
    return "\(scheme)://\(host)\(port == usual ? "" : ":\(port)")"
  }
}

/// Owns a URL handle of libcurl.
struct CurlURL: ~Copyable {
  let handle: OpaquePointer

  init() throws(ParsedURL.Failure) {
    guard let handle = curl_url() else { throw .malformed("out of memory") }
    self.handle = handle
  }

  /// What a transfer is given: the handle whose parts are those that were checked, or none. A text that is read once more
  /// may be read otherwise.
  static func of(_ url: ParsedURL) throws(ParsedURL.Failure) -> CurlURL {
    let handle = try CurlURL()
    try handle.set(url.text)
    guard ParsedURL(handle) == url else { throw .malformed("it reads otherwise than when it was checked") }
    return handle
  }

  deinit { curl_url_cleanup(handle) }

  func set(_ text: String) throws(ParsedURL.Failure) {
    // Schemes that can't be asked are for the policy to refuse by name, not for the parser.
    let code = curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME))
    if code != CURLUE_OK { throw .malformed(String(cString: curl_url_strerror(code))) }
  }

  func part(_ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard oc_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
