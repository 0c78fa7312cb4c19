internal import AssetModel

/// Which hosts are asked without the proxy. Decided here, so that it is known of every transfer whether its own address can
/// be seen and checked.
enum ProxyRules {
  /// `host:port` of a proxy as CURLOPT_PROXY(3) takes it, for people: without a user's password.
  static func name(of proxy: String) -> String {
    let parts = proxy.split(separator: "://", maxSplits: 1)
    let authority = (parts.last ?? "").prefix { $0 != "/" }
    let host = authority.split(separator: "@").last.map(String.init) ?? ""
    let hasPort = !host.hasSuffix("]") && (host.split(separator: "]").last ?? "").contains(":")
    let usual = parts.count == 2 && HeaderToken.lowercased(String(parts[0])) == "https" ? 443 : 1080
    return Printable.text(hasPort ? host : "\(host):\(usual)")
  }

  /// Whether TLS is spoken to the proxy itself.
  static func isOfTLS(_ proxy: String) -> Bool { HeaderToken.lowercased(proxy).hasPrefix("https://") }

  /// Whether it passes on bytes and knows nothing of requests.
  static func isSOCKS(_ proxy: String) -> Bool {
    HeaderToken.lowercased(proxy).hasPrefix("socks") && proxy.contains("://")
  }

  static func isDirect(_ host: String, noProxy: String) -> Bool {
    let host = HeaderToken.lowercased(host)
    let address = HostRules.address(host)
    return noProxy.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).contains { entry in
      if entry == "*" { return true }
      if let address {
        let literal = entry.hasPrefix("[") && entry.hasSuffix("]") ? entry.dropFirst().dropLast() : entry
        return AddressBlock(String(literal))?.contains(address) == true
      }
      var name = HeaderToken.lowercased(String(entry))
      if name.hasPrefix("*.") { name.removeFirst() }
      if name.hasPrefix(".") { name.removeFirst() }
      return !name.isEmpty && (host == name || host.hasSuffix("." + name))
    }
  }
}
