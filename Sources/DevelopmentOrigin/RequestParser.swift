internal import Basics
internal import Glibc

/// Reads request heads strictly: what two parsers could understand differently is refused.
struct RequestParser {
  static let longestHead = 64 << 10
  static let longestTarget = 8 << 10
  static let maxFields = 256
  static let longestBody = 1 << 20

  enum Result {
    case incomplete
    /// And how many bytes its head took.
    case request(RecordedRequest, Int)
    case refused(status: Int, reason: String)
  }

  private struct Refusal: Error {
    let status: Int
    let reason: String

    init(_ status: Int, _ reason: String) {
      self.status = status
      self.reason = reason
    }
  }

  static func parse(_ bytes: UnsafeRawBufferPointer, isProxy: Bool = false) -> Result {
    // An empty line before the request is allowed (RFC 9112).
    var start = 0
    while start + 1 < bytes.count, start < 4, bytes[start] == 13, bytes[start + 1] == 10 { start += 2 }
    var lines: [Range<Int>] = []
    var at = start
    while true {
      guard let end = lineEnd(bytes, from: at) else {
        return bytes.count - start > longestHead ? .refused(status: 431, reason: "the head is too long") : .incomplete
      }
      guard end > at, bytes[end - 1] == 13 else { return .refused(status: 400, reason: "a line ends without CR") }
      if end - 1 == at, !lines.isEmpty { break }
      lines.append(at..<end - 1)
      at = end + 1
      if lines.count > maxFields + 1 { return .refused(status: 431, reason: "there are too many fields") }
      if at - start > longestHead { return .refused(status: 431, reason: "the head is too long") }
    }
    do throws(Refusal) {
      return .request(try request(bytes, lines, isProxy: isProxy), at + 2)
    } catch {
      return .refused(status: error.status, reason: error.reason)
    }
  }

  private static func lineEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = bytes.baseAddress, start < bytes.count, let found = memchr(base + start, 10, bytes.count - start)
    else {
      return nil
    }
    return UnsafeRawPointer(found) - base
  }

  private static func request(
    _ bytes: UnsafeRawBufferPointer, _ lines: [Range<Int>], isProxy: Bool
  ) throws(Refusal) -> RecordedRequest {
    let line = bytes[lines[0]]
    let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
    guard words.count == 3, !words[0].isEmpty, !words[1].isEmpty else {
      throw Refusal(400, "the request line has no three words")
    }
    guard words[0].allSatisfy(isToken), words[0].count <= 32 else { throw Refusal(400, "the method isn't a token") }
    guard words[1].count <= longestTarget else { throw Refusal(414, "the target is too long") }
    guard words[1].allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw Refusal(400, "the target has a forbidden byte")
    }
    let version = String(decoding: words[2], as: UTF8.self)
    // A later minor version is understood as the one that is spoken here (RFC 9110, 2.5).
    guard version.utf8.count == 8, version.hasPrefix("HTTP/1."), ("0"..."9").contains(version.last ?? " ") else {
      throw version.hasPrefix("HTTP/") ? Refusal(505, "only HTTP/1.1 is spoken here") : Refusal(400, "that isn't HTTP")
    }
    var fields: [HeaderField] = []
    for range in lines.dropFirst() { fields.append(try field(bytes[range])) }

    var lengths: Set<String> = []
    var hosts: [String] = []
    for field in fields {
      if field.name.isEqualIgnoringCase(to: "Transfer-Encoding") { throw Refusal(501, "bodies in chunks aren't taken") }
      if field.name.isEqualIgnoringCase(to: "Content-Length") { lengths.insert(field.value) }
      if field.name.isEqualIgnoringCase(to: "Host") { hosts.append(field.value) }
    }
    guard hosts.count == 1 || hosts.isEmpty && version == "HTTP/1.0" else {
      throw Refusal(400, "there must be one Host")
    }
    guard lengths.count < 2 else { throw Refusal(400, "lengths contradict each other") }
    var bodyLength = 0
    if let text = lengths.first {
      guard text.utf8.count <= 18, DecimalText.isDigits(text), let length = Int(text) else {
        throw Refusal(400, "the length isn't a number")
      }
      guard length <= longestBody else { throw Refusal(413, "the body is too long") }
      bodyLength = length
    }
    let method = String(decoding: words[0], as: UTF8.self)
    let target = String(decoding: words[1], as: UTF8.self)
    let parts = try split(target, method: method, isProxy: isProxy)
    guard let pathBytes = decoded(parts.path) else { throw Refusal(400, "the path is badly encoded") }
    return RecordedRequest(
      method: method, target: target, path: String(decoding: pathBytes, as: UTF8.self), query: parts.query,
      headers: fields,
      pathBytes: pathBytes, isVersion10: version == "HTTP/1.0", bodyLength: bodyLength,
      authority: parts.authority ?? hosts.first ?? "")
  }

  private static func field(_ line: Slice<UnsafeRawBufferPointer>) throws(Refusal) -> HeaderField {
    guard let colon = line.firstIndex(of: 0x3a), colon > line.startIndex else {
      throw Refusal(400, "a field has no name")
    }
    guard line[..<colon].allSatisfy(isToken) else { throw Refusal(400, "a field's name isn't a token") }
    let value = line[(colon + 1)...]
    guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
      throw Refusal(400, "a field has a control byte")
    }
    return HeaderField(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self).trimmed)
  }

  /// Origin form; absolute form; for a proxy also the authority alone.
  private static func split(
    _ target: String, method: String, isProxy: Bool
  ) throws(Refusal) -> (authority: String?, path: Substring, query: String?) {
    if method == "CONNECT" {
      guard isProxy else { throw Refusal(405, "this isn't a proxy") }
      return (target, "", nil)
    }
    var rest = target[...]
    var authority: String?
    if rest.first != "/" {
      guard rest.lowercased().hasPrefix("http://") else { throw Refusal(400, "the target is neither a path nor a URL") }
      rest = rest.dropFirst(7)
      let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
      authority = String(rest[..<end])
      rest = rest[end...]
      if rest.first != "/" { rest = "/" + rest }
    }
    if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
    guard let mark = rest.firstIndex(of: "?") else { return (authority, rest, nil) }
    return (authority, rest[..<mark], String(rest[rest.index(after: mark)...]))
  }

  private static func decoded(_ path: Substring) -> [UInt8]? {
    func digit(_ byte: UInt8) -> UInt8? {
      switch byte {
      case 0x30...0x39: byte - 0x30
      case 0x41...0x46: byte - 0x37
      case 0x61...0x66: byte - 0x57
      default: nil
      }
    }
    var result: [UInt8] = []
    var iterator = path.utf8.makeIterator()
    while let byte = iterator.next() {
      guard byte == UInt8(ascii: "%") else {
        result.append(byte)
        continue
      }
      guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit), high | low != 0 else {
        return nil
      }
      result.append(high << 4 | low)
    }
    return result
  }

  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e...0x60, 0x7c, 0x7e: true
    default: false
    }
  }
}
