internal import Basics

/// Reads a head line by line, as libcurl hands it over (RFC 9112, 2.2 and 5). One reader is for one hop: interim responses
/// (1xx) and trailers count towards the same caps, so that a peer can't send them without end.
struct ResponseHeadReader {
  static let maxBytes = 64 << 10
  static let maxFields = 256

  /// Whether the connection can have agreed on HTTP/2. Elsewhere a status line that says so is only text, and nothing that
  /// HTTP/2 proves (such as the end of a body) follows from it.
  private let allowsHTTP2: Bool
  private var bytes = 0
  private var decodedBytes = 0
  private var fieldCount = 0
  private var head: ResponseHead?
  private var isComplete = false
  /// By the last status line that came.
  private(set) var isHTTP2 = false

  init(allowsHTTP2: Bool = false) { self.allowsHTTP2 = allowsHTTP2 }

  /// The head, at its empty line; nil before, and for trailers after it.
  mutating func append(_ line: UnsafeRawBufferPointer) throws(HeadFailure) -> ResponseHead? {
    bytes += line.count
    if bytes > Self.maxBytes { throw .tooLarge(bytes: Self.maxBytes) }
    let text = try Self.withoutEnd(line)
    if text.isEmpty {
      if isComplete { return nil }
      guard let head else { throw .malformed("it has no status line") }
      if head.status < 200 {
        self.head = nil
        return nil
      }
      isComplete = true
      return head
    }
    if head == nil {
      let line = try Self.statusLine(text)
      guard line.version.major < 2 || allowsHTTP2 && line.version.major == 2 else {
        throw .malformed("it says \(line.version), which this connection doesn't speak")
      }
      isHTTP2 = line.version.major == 2
      head = line
      return nil
    }
    fieldCount += 1
    if fieldCount > Self.maxFields { throw .tooManyFields(Self.maxFields) }
    if isComplete { return nil }
    let field = try field(text)
    head?.fields.append(field)
    return nil
  }

  private mutating func field(_ text: Slice<UnsafeRawBufferPointer>) throws(HeadFailure) -> ResponseHead.Field {
    // What one reader appends to the field before, another takes for a field of its own (RFC 9112, 5.2).
    if let first = text.first, HeaderToken.isBlank(first) {
      throw .malformed("a field that is continued on another line")
    }
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex else {
      throw .malformed("a field without a name")
    }
    let name = text[..<colon]
    guard name.allSatisfy(HeaderToken.contains) else { throw .malformed("a field whose name is no token") }
    let bytes = text[text.index(after: colon)...].trimmed
    let known = String(validating: bytes, as: UTF8.self)
    let value = known ?? String(decoding: bytes, as: UTF8.self)
    // Each byte that isn't UTF-8 becomes three.
    decodedBytes += value.utf8.count
    if decodedBytes > Self.maxBytes { throw .tooLarge(bytes: Self.maxBytes) }
    return ResponseHead.Field(
      name: HeaderToken.lowercased(name), value: value, bytes: known == nil ? Array(bytes) : nil)
  }

  private static func withoutEnd(_ line: UnsafeRawBufferPointer) throws(HeadFailure) -> Slice<UnsafeRawBufferPointer> {
    var text = line[...]
    guard text.popLast() == UInt8(ascii: "\n") else { throw .malformed("a line without an end") }
    if text.last == UInt8(ascii: "\r") { text.removeLast() }
    if let bad = text.first(where: { $0 == 0 || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
      throw .malformed("a byte \(bad) within a line")
    }
    return text
  }

  private static func statusLine(_ line: Slice<UnsafeRawBufferPointer>) throws(HeadFailure) -> ResponseHead {
    let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, let version = HTTPVersion(String(decoding: parts[0], as: UTF8.self)), parts[1].count == 3,
      let status = DecimalText.value(String(decoding: parts[1], as: UTF8.self)), status >= 100
    else { throw .malformed("a status line that is none") }
    // Another protocol is never asked for; what follows 101 wouldn't be HTTP.
    if status == 101 { throw .malformed("it switches protocols unasked") }
    return ResponseHead(version: version, status: Int(status), fields: [])
  }
}

extension Slice<UnsafeRawBufferPointer> {
  /// Without blanks around it.
  fileprivate var trimmed: Self {
    var slice = self
    while let first = slice.first, HeaderToken.isBlank(first) { slice.removeFirst() }
    while let last = slice.last, HeaderToken.isBlank(last) { slice.removeLast() }
    return slice
  }
}
