internal import Basics

/// The addresses that share their first bits, as in `10.0.0.0/8` (RFC 4632, RFC 4291).
public struct AddressBlock: Sendable, Hashable, CustomStringConvertible {
  /// The block's first address.
  public let network: NetworkAddress
  /// Bits that all of its addresses share.
  public let length: Int

  /// nil when bits beyond `length` are set: the author of such a block meant something else.
  public init?(_ network: NetworkAddress, length: Int) {
    let bytes = network.bytes
    guard bytes.count == 4 || bytes.count == 16, (0...bytes.count * 8).contains(length) else { return nil }
    for (index, byte) in bytes.enumerated() where byte & ~Self.mask(index, length) != 0 { return nil }
    self.network = network
    self.length = length
  }

  /// Reads `address/length`, or a single address.
  ///
  /// - Parameter text: For example `192.0.2.0/24` or `2001:db8::1`.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let first = parts.first, let network = NetworkAddress(String(first)) else { return nil }
    if parts.count == 1 {
      self.init(network, length: network.bytes.count * 8)
    } else {
      guard parts[1].utf8.count <= 3, let length = DecimalText.value(parts[1]) else { return nil }
      self.init(network, length: Int(length))
    }
  }

  /// Whether an address of the same family lies in it.
  package func contains(_ address: NetworkAddress) -> Bool {
    let (own, other) = (network.bytes, address.bytes)
    guard own.count == other.count else { return false }
    return own.indices.allSatisfy { other[$0] & Self.mask($0, length) == own[$0] }
  }

  public var description: String { "\(network)/\(length)" }

  /// The bits of byte `index` that belong to the first `length` bits.
  private static func mask(_ index: Int, _ length: Int) -> UInt8 {
    let bits = min(max(length - index * 8, 0), 8)
    return bits == 0 ? 0 : 0xff << UInt8(8 - bits)
  }
}
