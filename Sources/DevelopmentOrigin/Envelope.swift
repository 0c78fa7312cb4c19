/// An answer in parts (RFC 9110, 14.6), with one part in it.
enum Envelope {
  private static let boundary = "THE-PART"
  static let contentType = "multipart/byteranges; boundary=\(boundary)"

  /// Of as much of the range as is worth holding in memory.
  static func bytes(_ range: Range<Int>, of content: Content, _ type: String) -> [UInt8] {
    let range = range.lowerBound..<min(range.upperBound, range.lowerBound + (16 << 20))
    let start = """
      --\(boundary)\r\nContent-Type: \(type)\r\n\
      Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(content.count)\r\n\r\n
      """
    return Array(start.utf8) + content.bytes(in: range) + Array("\r\n--\(boundary)--\r\n".utf8)
  }
}
