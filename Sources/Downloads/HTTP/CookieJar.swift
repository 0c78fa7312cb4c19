internal import AssetModel
internal import Basics

/// Cookies that redirects of one download set (RFC 6265, 5): in memory, and for the origin that set them alone, whatever
/// their `Domain` says. A login or consent page sets one and redirects back to the first URL.
struct CookieJar: Sendable, Equatable {
  private struct Cookie: Sendable, Equatable {
    var origin: String
    var name: String
    var value: String
    var path: String
  }

  /// Of all origins together. What comes beyond is dropped: a request stays small.
  static let maxCookies = 32
  /// Bytes of one name with its value, and of the `Cookie` field.
  static let longestCookie = 4096
  static let longestField = 8192

  private var cookies: [Cookie] = []

  /// Takes the `Set-Cookie` fields of an answer. True: a cookie is new, changed or gone, so that the same request may be
  /// answered otherwise. `now`: seconds since 1970.
  mutating func take(_ fields: [String], from url: ParsedURL, now: Int64) -> Bool {
    let before = cookies
    for field in fields { take(field, from: url, now: now) }
    return cookies != before
  }

  private mutating func take(_ field: String, from url: ParsedURL, now: Int64) {
    let parts = field.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)
    guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return }
    let (name, value) = (Self.trimmed(pair[..<equals]), Self.trimmed(pair[pair.index(after: equals)...]))
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.longestCookie,
      // What would end the field, or isn't text, is no cookie.
      [name, value].allSatisfy({ $0.utf8.allSatisfy { (0x20...0x7e).contains($0) } })
    else { return }
    let attributes = parts.dropFirst().map { part in
      let equals = part.firstIndex(of: "=") ?? part.endIndex
      return (name: HeaderToken.lowercased(String(Self.trimmed(part[..<equals]))), value: part[equals...].dropFirst())
    }
    func last(_ name: String) -> String? { attributes.last { $0.name == name }.map { String(Self.trimmed($0.value)) } }
    let path = last("path").flatMap { $0.isAbsolutePath ? $0 : nil } ?? Self.directory(of: url.path)
    let place = cookies.firstIndex { $0.origin == url.origin && $0.name == name && $0.path == path }
    if Self.isOver(maxAge: last("max-age"), expires: last("expires"), now: now) {
      if let place { cookies.remove(at: place) }
    } else if let place {
      cookies[place].value = String(value)
    } else if cookies.count < Self.maxCookies, path.utf8.count <= Self.longestCookie {
      cookies.append(Cookie(origin: url.origin, name: String(name), value: String(value), path: path))
    }
  }

  /// The `Cookie` field of a request; nil: it has none.
  func field(for url: ParsedURL) -> String? {
    let matching = cookies.filter { $0.origin == url.origin && Self.matches(url.path, $0.path) }
    var field = ""
    // Longer paths first, then those that were set first (RFC 6265, 5.4).
    for cookie in matching.enumerated().sorted(by: { left, right in
      let lengths = (left.element.path.utf8.count, right.element.path.utf8.count)
      return lengths.0 == lengths.1 ? left.offset < right.offset : lengths.0 > lengths.1
    }).map(\.element) {
      let pair = "\(cookie.name)=\(cookie.value)"
      guard field.utf8.count + pair.utf8.count + 2 <= Self.longestField else { break }
      field += field.isEmpty ? pair : "; \(pair)"
    }
    return field.isEmpty ? nil : field
  }

  /// `headers` with what the jar has for `url`. A request has one such field: cookies of the client's own stay in front.
  func added(to headers: [Download.Header], for url: ParsedURL) -> [Download.Header] {
    guard let field = field(for: url) else { return headers }
    var headers = headers
    if let place = headers.firstIndex(where: { HeaderToken.lowercased($0.name) == "cookie" }) {
      headers[place].value += "; \(field)"
    } else {
      headers.append(Download.Header(name: "Cookie", value: field))
    }
    return headers
  }

  /// `Max-Age` counts more than `Expires`; a later end is beyond the download's own.
  private static func isOver(maxAge: String?, expires: String?, now: Int64) -> Bool {
    if let maxAge, maxAge.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }), !maxAge.isEmpty {
      return maxAge.hasPrefix("-") || maxAge.allSatisfy { $0 == "0" }
    }
    return expires.flatMap(HTTPDate.seconds).map { $0 <= now } ?? false
  }

  /// The default path (RFC 6265, 5.1.4).
  private static func directory(of path: String) -> String {
    path.isAbsolutePath ? path.parentFolder ?? "/" : "/"
  }

  private static func matches(_ path: String, _ cookiePath: String) -> Bool {
    let path = path.isEmpty ? "/" : path
    guard path.utf8.starts(with: cookiePath.utf8) else { return false }
    return path.utf8.count == cookiePath.utf8.count || cookiePath.utf8.last == UInt8(ascii: "/")
      || path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}
