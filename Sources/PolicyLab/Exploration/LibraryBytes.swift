/// A library's file as numbers and texts at places. The file is hostile: whatever it says, nothing beyond it is read.
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
}
