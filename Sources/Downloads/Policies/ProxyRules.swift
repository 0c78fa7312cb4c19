/// Which hosts are asked without the proxy. Decided here, so that it is known of every transfer whether its own address can
/// be seen and judged.
enum ProxyRules {
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
