/// Which addresses may be connected to. Checked for every socket, so that a name can't lead elsewhere between two requests.
public struct AddressPolicy: Sendable, Equatable {
  /// Addresses of this machine itself.
  public var allowsLoopback = false
  /// Private, shared, link-local and unique-local networks.
  public var allowsPrivate = false
  /// Addresses that the administrator allows, though they are special.
  public var exceptions: [AddressBlock] = []

  /// Creates a policy for public addresses alone.
  public init() {}

  /// Why an address isn't asked, or nil.
  package func rejectionReason(for address: NetworkAddress) -> String? {
    guard let kind = SpecialAddresses.kind(of: address), !isExcepted(address) else { return nil }
    switch kind {
    case .loopback: return allowsLoopback ? nil : "\(address) is this machine itself"
    case .local(let name): return allowsPrivate ? nil : "\(address) is \(name)"
    case .never(let name): return "\(address) is \(name)"
    }
  }

  /// A mapped address is the same host as the one that it carries; one of a tunnel or translator isn't.
  private func isExcepted(_ address: NetworkAddress) -> Bool {
    var names = [address]
    if case .v6(let bytes) = address, bytes.count == 16,
      bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xff, 0xff])
    {
      names.append(.v4(bytes[12...].reduce(0) { $0 << 8 | UInt32($1) }))
    }
    return exceptions.contains { names.contains(where: $0.contains) }
  }
}
