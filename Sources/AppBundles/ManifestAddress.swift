/// What `BAManifestURL` may be (L9).
enum ManifestAddress {
  static let longest = 8192

  static func isAllowed(_ url: String, isDevelopment: Bool) -> Bool {
    guard url.utf8.count <= longest, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return false }
    if let host = host(of: url, scheme: "https://") { return isHost(host) }
    guard isDevelopment, let host = host(of: url, scheme: "http://") else { return false }
    return isLoopback(host)
  }

  static func expectation(isDevelopment: Bool) -> String {
    "an https URL with a host" + (isDevelopment ? ", or an http URL of a loopback host" : "")
  }

  /// Without port and brackets; nil where the URL has another scheme or a port that is none.
  private static func host(of url: String, scheme: String) -> String? {
    guard url.lowercased().hasPrefix(scheme) else { return nil }
    let authority = url.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    // What is before an @ is for a server that the eye takes it for.
    guard !authority.contains("@") else { return nil }
    var host = authority
    var port: Substring = ""
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[...end]
      port = authority[authority.index(after: end)...]
    } else if let colon = authority.firstIndex(of: ":") {
      host = authority[..<colon]
      port = authority[colon...]
    }
    guard port.isEmpty || port.first == ":" && (UInt16(port.dropFirst()).map { $0 > 0 } ?? false) else { return nil }
    return host.lowercased()
  }

  private static func isHost(_ host: String) -> Bool {
    if host.hasPrefix("["), host.hasSuffix("]") {
      return host.count > 2 && host.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    }
    return DomainPattern.isHostName(host)
  }

  /// `localhost`, 127.0.0.0/8 and ::1.
  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil && $0.allSatisfy(\.isNumber) }
  }
}

/// An entry of `BADownloadDomainAllowList`.
enum DomainPattern {
  static let rule = "a host name, or *. and one for its subdomains, without scheme, port or path"

  static func isAllowed(_ text: String) -> Bool {
    isHostName(text.hasPrefix("*.") ? String(text.dropFirst(2)) : text)
  }

  static func isHostName(_ text: String) -> Bool {
    guard !text.isEmpty, text.utf8.count <= 253 else { return false }
    return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
      !label.isEmpty && label.utf8.count <= 63 && label.first != "-" && label.last != "-"
        && label.utf8.allSatisfy {
          BundleNames.isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
    }
  }
}
