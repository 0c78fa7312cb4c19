/// The status and fields of one answer (RFC 9110, 6). Names are lower case; values are as they came.
struct ResponseHead: Sendable, Equatable {
  struct Field: Sendable, Equatable {
    var name: String
    var value: String
  }

  enum ContentLength: Equatable {
    case none
    case value(Int64)
    /// Several that differ, garbage, or one together with a transfer coding: nobody can say where the body ends.
    case contradicting(String)

    var value: Int64? { if case .value(let value) = self { value } else { nil } }
  }

  var status: Int
  var fields: [Field]

  init(status: Int, fields: [Field]) {
    self.status = status
    self.fields = fields
  }

  func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
  func first(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  var isChunked: Bool { values("transfer-encoding").contains { $0.lowercased().contains("chunked") } }

  /// Seconds since 1970 of `Date`.
  var date: Int64? { first("date").flatMap(HTTPDate.seconds) }

  var contentLength: ContentLength {
    let lengths = values("content-length")
    guard let first = lengths.first else { return .none }
    guard lengths.allSatisfy({ $0 == first }) else { return .contradicting("\(lengths.count) different Content-Length fields") }
    guard let value = Decimal.value(first) else { return .contradicting("a Content-Length that is no number") }
    if first.utf8.isEmpty || !values("transfer-encoding").isEmpty {
      return .contradicting("a Content-Length together with Transfer-Encoding")
    }
    return .value(value)
  }
}

/// Unsigned decimal digits and nothing else.
enum Decimal {
  static func value(_ text: some StringProtocol) -> Int64? {
    guard !text.isEmpty, text.utf8.count <= 19, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int64(text)
  }
}

enum HeadFailure: Error, Sendable, Equatable, CustomStringConvertible {
  case tooLarge(bytes: Int)
  case tooManyFields(Int)
  case malformed(String)

  var description: String {
    switch self {
    case .tooLarge(let bytes): "the response's fields have more than \(bytes) bytes"
    case .tooManyFields(let count): "the response has more than \(count) fields"
    case .malformed(let what): "the response's head is malformed: \(what)"
    }
  }
}

/// Reads a head line by line, as libcurl hands it over; interim responses (1xx) are passed over, and their bytes count.
struct ResponseHeadReader {
  static let mostBytes = 64 << 10
  static let mostFields = 256

  private var bytes = 0
  private var fieldCount = 0
  private var head: ResponseHead?
  private var isComplete = false

  /// The head, at its empty line; nil before, and for trailers after it.
  mutating func append(_ line: UnsafeRawBufferPointer) throws(HeadFailure) -> ResponseHead? {
    bytes += line.count
    if bytes > Self.mostBytes { throw .tooLarge(bytes: Self.mostBytes) }
    var text = line[...]
    if text.last == 10 { text.removeLast() }
    if text.last == 13 { text.removeLast() }
    if let bad = text.first(where: { $0 == 0 || $0 == 13 || $0 == 10 }) { throw .malformed("a byte \(bad) within a line") }
    if isComplete {
      try count()
      return nil
    }
    if text.isEmpty {
      guard let head else { throw .malformed("it has no status line") }
      if (100..<200).contains(head.status), head.status != 101 {
        self.head = nil
        return nil
      }
      isComplete = true
      return head
    }
    if head == nil {
      head = ResponseHead(status: try Self.status(text), fields: [])
      return nil
    }
    try count()
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex else {
      throw .malformed("a field without a name")
    }
    let name = text[..<colon]
    guard name.allSatisfy(Self.isToken) else { throw .malformed("a field whose name is no token") }
    let value = text[text.index(after: colon)...].trimmed
    head?.fields.append(
      ResponseHead.Field(name: String(decoding: name, as: UTF8.self).lowercased(), value: String(decoding: value, as: UTF8.self)))
    return nil
  }

  private mutating func count() throws(HeadFailure) {
    fieldCount += 1
    if fieldCount > Self.mostFields { throw .tooManyFields(Self.mostFields) }
  }

  private static func status(_ line: Slice<UnsafeRawBufferPointer>) throws(HeadFailure) -> Int {
    let parts = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[0].hasPrefix("HTTP/"), parts[1].utf8.count == 3, let status = Decimal.value(parts[1]),
      (100...599).contains(status)
    else { throw .malformed("a status line that is none") }
    return Int(status)
  }

  /// RFC 9110, 5.6.2.
  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}

extension Slice<UnsafeRawBufferPointer> {
  /// Without blanks around it.
  fileprivate var trimmed: Self {
    var slice = self
    while let first = slice.first, first == 32 || first == 9 { slice.removeFirst() }
    while let last = slice.last, last == 32 || last == 9 { slice.removeLast() }
    return slice
  }
}
