internal import Sandbox

/// Which addresses a name of a policy may lead to. Others than the policy's author may run the DNS servers of that name,
/// who mustn't be able to open the machine's own services to a plugin.
enum AddressRule {
  /// Why the host doesn't connect to an address that a host's name was resolved to; nil: it does.
  static func rejectionReason(for address: [UInt8], of host: NetworkHost) -> String? {
    // What the policy says itself.
    if host.address != nil { return nil }
    let plain = mapped(address) ?? address
    let kind = plain.count == 4 ? four(plain) : six(plain)
    guard let kind else {
      return host.text == "localhost" ? "\(NetworkHost.text(of: address)) isn't this machine" : nil
    }
    if host.text == "localhost", kind == "this machine itself" { return nil }
    return
      "it resolves to \(NetworkHost.text(of: address)), which is \(kind): a policy has to name such an address itself"
  }

  private static func mapped(_ address: [UInt8]) -> [UInt8]? {
    let prefix = [UInt8](repeating: 0, count: 10)
    guard address.count == 16 else { return nil }
    let isMapped = address.starts(with: prefix + [0xff, 0xff])
    // IPv4-compatible ones, but for :: and ::1.
    let isCompatible = address.starts(with: prefix + [0, 0]) && address[12..<15] != [0, 0, 0]
    return isMapped || isCompatible ? Array(address.suffix(4)) : nil
  }

  private static func four(_ address: [UInt8]) -> String? {
    switch (address[0], address[1]) {
    case (127, _): "this machine itself"
    case (0, _): "this machine itself"
    case (169, 254): "link-local"
    case (224..., _): "no single machine's"
    default: nil
    }
  }

  private static func six(_ address: [UInt8]) -> String? {
    if address.dropLast().allSatisfy({ $0 == 0 }), address[15] <= 1 { return "this machine itself" }
    if address[0] == 0xff { return "no single machine's" }
    if address[0] == 0xfe, address[1] & 0xc0 == 0x80 { return "link-local" }
    return nil
  }
}
