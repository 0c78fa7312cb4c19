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

  var version: HTTPVersion
  var status: Int
  var fields: [Field]

  init(version: HTTPVersion = .http11, status: Int, fields: [Field]) {
    self.version = version
    self.status = status
    self.fields = fields
  }

  func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
  func first(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  /// Whether the body ends with a chunk of its own: `chunked` is the last transfer coding (RFC 9112, 6.1).
  var isChunked: Bool {
    let codings = values("transfer-encoding").joined(separator: ",").utf8.split(separator: UInt8(ascii: ","))
    guard let last = codings.last else { return false }
    return HeaderToken.lowercased(last.filter { !HeaderToken.isBlank($0) }) == "chunked"
  }

  /// Seconds since 1970 of `Date`; nil where it is missing, garbage or said twice.
  var date: Int64? {
    let dates = values("date")
    guard let first = dates.first, dates.allSatisfy({ $0 == first }) else { return nil }
    return HTTPDate.seconds(first)
  }

  /// Lists are refused too, of equal members as well: what one parser joins, another one takes apart (RFC 9112, 6.3).
  var contentLength: ContentLength {
    let lengths = values("content-length")
    guard let first = lengths.first else { return .none }
    guard lengths.allSatisfy({ $0 == first }) else {
      return .contradicting("\(lengths.count) different Content-Length fields")
    }
    guard let value = Decimal.value(first) else { return .contradicting("a Content-Length that is no number") }
    if !values("transfer-encoding").isEmpty {
      return .contradicting("a Content-Length together with Transfer-Encoding")
    }
    return .value(value)
  }
}
