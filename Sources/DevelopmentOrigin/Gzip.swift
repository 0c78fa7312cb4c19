/// A gzip file without compression: what a client can't take for identity.
enum Gzip {
  static let longest = 64 << 20

  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
    var offset = 0
    repeat {
      let size = min(bytes.count - offset, 0xffff)
      result.append(offset + size == bytes.count ? 1 : 0)
      result += [UInt8(size & 0xff), UInt8(size >> 8), UInt8(~size & 0xff), UInt8((~size >> 8) & 0xff)]
      result += bytes[offset..<offset + size]
      offset += size
    } while offset < bytes.count
    let sum = checksum(bytes)
    for number in [sum, UInt32(truncatingIfNeeded: bytes.count)] {
      withUnsafeBytes(of: number.littleEndian) { result += $0 }
    }
    return result
  }

  private static let table = (0..<256).map { (index: UInt32) in
    (0..<8).reduce(index) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
  }

  /// CRC-32 (RFC 1952, 8).
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    table.withUnsafeBufferPointer { table in
      bytes.withUnsafeBufferPointer { bytes in
        var (sum, index) = (~UInt32(0), 0)
        // Not a reduction, which takes a hundred times as long without optimisation: tests serve megabytes so.
        while index < bytes.count {
          sum = table[Int(UInt8(truncatingIfNeeded: sum) ^ bytes[index])] ^ sum >> 8
          index += 1
        }
        return ~sum
      }
    }
  }
}
