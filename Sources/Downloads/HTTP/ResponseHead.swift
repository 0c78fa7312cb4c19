internal import AssetModel
internal import Basics

/// The status and fields of one answer (RFC 9110, 6). Names are lower case; values are as they came.
struct ResponseHead: Sendable, Equatable {
  struct Field: Sendable, Equatable {
    var name: String
    var value: String
    /// As it came, where that isn't UTF-8.
    var bytes: [UInt8]?
  }

  enum ContentLength: Equatable {
    case none
    case value(Int64)
    /// Several that differ, garbage, or one together with a transfer coding: the end of the body can't be told.
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

  /// 203 is 200 of which a proxy has changed something, as it says itself (RFC 9110, 15.3.4).
  var asWhole: ResponseHead {
    var head = self
    if status == 203 { head.status = 200 }
    return head
  }

  func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

  /// Fields that are a URL: its bytes beyond ASCII are those that its server knows it by (RFC 3987, 3.1).
  func addresses(_ name: String) -> [String] {
    fields.filter { $0.name == name }.map { field in
      field.bytes.map { $0.map { $0 < 0x80 ? String(UnicodeScalar($0)) : Self.encoded($0) }.joined() } ?? field.value
    }
  }

  private static func encoded(_ byte: UInt8) -> String { "%" + String(byte, radix: 16, uppercase: true) }

  func first(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  enum TransferCoding: Equatable {
    case none, chunked
    /// libcurl takes the chunks apart and leaves everything else as it came: such a body isn't the file.
    case other(String)
  }

  /// `chunked` and nothing else is understood, and no server was told otherwise (RFC 9112, 6.1 and 7.4).
  var transferCoding: TransferCoding {
    let values = values("transfer-encoding")
    if values.isEmpty { return .none }
    let text = values.joined(separator: ",")
    return HeaderToken.lowercased(text) == "chunked" ? .chunked : .other(text)
  }

  /// Content codings in lower case, in the order in which they were applied; nil: none, which may be said as well.
  var contentCoding: String? {
    let codings = values("content-encoding").flatMap { $0.split(separator: ",") }
      .map { HeaderToken.lowercased(String($0.filter { $0 != " " && $0 != "\t" })) }
      .filter { !$0.isEmpty && $0 != "identity" }
    return codings.isEmpty ? nil : codings.joined(separator: ", ")
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
      return .contradicting("\(lengths.count) Content-Length fields that differ")
    }
    guard let value = DecimalText.value(first) else {
      return .contradicting("its Content-Length isn't one number (\(Printable.text(first, limit: 40)))")
    }
    if !values("transfer-encoding").isEmpty {
      return .contradicting("a Content-Length together with Transfer-Encoding")
    }
    return .value(value)
  }
}
