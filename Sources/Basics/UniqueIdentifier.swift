/// Names that nothing else has.
package enum UniqueIdentifier {
  /// A random UUID (RFC 9562, version 4) in upper case, as Foundation writes it. Foundation's own opens a device file for each: of a
  /// wake whose plugin leaves names to the host, that was a hundredth.
  package static func random() -> String {
    var bytes = [UInt64.random(in: 0 ... .max), .random(in: 0 ... .max)].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
    }
    bytes[6] = bytes[6] & 0x0f | 0x40
    bytes[8] = bytes[8] & 0x3f | 0x80
    let parts = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hexadecimal.text(bytes[$0]) }
    return parts.joined(separator: "-").uppercased()
  }
}
