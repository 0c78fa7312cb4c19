/// A library's file as numbers and texts at places. The file is hostile, and nothing beyond it is ever read.
struct LibraryBytes {
  let bytes: [UInt8]

  func integer(_ at: Int, _ width: Int) -> UInt64? {
    guard at >= 0, width <= 8, at <= bytes.count - width else { return nil }
    return bytes[at..<at + width].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Up to the next zero byte; nil where there is none among the next 4096.
  func text(_ at: Int) -> String? {
    guard bytes.indices.contains(at), let end = bytes[at...].prefix(4096).firstIndex(of: 0) else { return nil }
    return String(decoding: bytes[at..<end], as: UTF8.self)
  }

  /// So far behind a place that the file names; nil where that isn't in the file.
  func place(_ start: Int, _ distance: Int) -> Int? {
    let (at, isTooMuch) = start.addingReportingOverflow(distance)
    return !isTooMuch && bytes.indices.contains(at) ? at : nil
  }

  /// A place and a length that lie in the file.
  func range(_ offset: UInt64, _ length: UInt64) -> Range<Int>? {
    guard offset <= UInt64(bytes.count), length <= UInt64(bytes.count) - offset else { return nil }
    return Int(offset)..<Int(offset + length)
  }

  /// LEB128, at most ten bytes.
  func number(_ at: inout Int, _ end: Int) -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 70, by: 7) {
      guard at < end, bytes.indices.contains(at) else { return nil }
      let byte = bytes[at]
      at += 1
      if shift < 64 { value |= UInt64(byte & 0x7f) << UInt64(shift) }
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }

  /// Signed LEB128, at most ten bytes.
  func signedNumber(_ at: inout Int, _ end: Int) -> Int64? {
    let start = at
    guard let value = number(&at, end) else { return nil }
    let width = (at - start) * 7
    guard width < 64, bytes[at - 1] & 0x40 != 0 else { return Int64(bitPattern: value) }
    return Int64(bitPattern: value | ~0 << UInt64(width))
  }
}
