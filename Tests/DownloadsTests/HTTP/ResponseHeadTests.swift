import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct ResponseHeadTests {
  static func read(_ lines: [String]) throws(HeadFailure) -> [ResponseHead] { try read(lines.map { Array($0.utf8) }) }

  static func read(_ lines: [[UInt8]]) throws(HeadFailure) -> [ResponseHead] {
    var reader = ResponseHeadReader(allowsHTTP2: true)
    var heads: [ResponseHead] = []
    for line in lines {
      let result = line.withUnsafeBytes { bytes in Result { () throws(HeadFailure) in try reader.append(bytes) } }
      if let head = try result.get() { heads.append(head) }
    }
    return heads
  }

  static func failure(_ lines: [[UInt8]]) -> HeadFailure? {
    do throws(HeadFailure) {
      _ = try read(lines)
      return nil
    } catch { return error }
  }

  static func head(_ fields: [(String, String)], status: Int = 200) -> ResponseHead {
    ResponseHead(status: status, fields: fields.map { ResponseHead.Field(name: $0.0, value: $0.1) })
  }

  @Test func readsAHead() throws {
    let heads = try Self.read([
      "HTTP/1.1 206 Partial Content\r\n", "ETag:  \"a:b\" \t\r\n", "X-Empty:\r\n", "etag: 2\n", "\r\n",
    ])
    let head = try #require(heads.first)
    #expect(heads.count == 1 && head.status == 206 && head.version == HTTPVersion(major: 1, minor: 1))
    #expect(head.values("etag") == ["\"a:b\"", "2"] && head.first("x-empty") == "" && head.first("none") == nil)
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n", 200, "HTTP/1.1"), ("HTTP/1.0 404\r\n", 404, "HTTP/1.0"), ("HTTP/2 200 \r\n", 200, "HTTP/2"),
    ("HTTP/1.1 999 \r\n", 999, "HTTP/1.1"),
  ])
  func statusLines(line: String, status: Int, version: String) throws {
    let head = try #require(try Self.read([line, "\r\n"]).first)
    #expect(head.status == status && head.version.description == version)
  }

  @Test(arguments: [
    "HTTP/1.1\r\n", "HTTP/1.1  200\r\n", "HTTP/1 200\r\n", "HTTP/0.9 200\r\n", "HTTP/1.10 200\r\n", "ICY 200 OK\r\n",
    "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 +20 OK\r\n", "HTTP/1.1 099 OK\r\n", "http/1.1 200 OK\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n", "HTTP/3 200\r\n", "\r\n", "Date: x\r\n",
  ])
  func refusesStatusLines(line: String) {
    #expect(throws: HeadFailure.self) { try Self.read([line, "\r\n"]) }
  }

  /// Text alone doesn't make it HTTP/2, from which the end of a body would follow.
  @Test(arguments: [true, false]) func http2IsReadWhereItWasAgreed(isAgreed: Bool) {
    var reader = ResponseHeadReader(allowsHTTP2: isAgreed)
    let result = Array("HTTP/2 200 \r\n".utf8).withUnsafeBytes { bytes in
      Result { () throws(HeadFailure) in try reader.append(bytes) }
    }
    #expect(reader.isHTTP2 == isAgreed)
    if case .failure(.malformed) = result { #expect(!isAgreed) } else { #expect(isAgreed) }
  }

  @Test(arguments: [
    " folded: x\r\n", "\tfolded\r\n", "NoColon\r\n", ": x\r\n", "Na me: x\r\n", "Name : x\r\n", "N\u{e9}: x\r\n",
    "A: x\0y\r\n",
    "A: x\ry\r\n", "A: x\r\r\n", "A: x", "",
  ])
  func refusesFields(line: String) {
    #expect(throws: HeadFailure.self) { try Self.read(["HTTP/1.1 200 OK\r\n", line, "\r\n"]) }
  }

  @Test func interimResponsesAreSwallowedAndCounted() throws {
    let interim = ["HTTP/1.1 103 Early Hints\r\n", "Link: x\r\n", "\r\n"]
    let heads = try Self.read(interim + interim + ["HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n"])
    #expect(heads.map(\.status) == [200] && heads[0].fields.count == 1)
    let lines = (interim + []).map { Array($0.utf8) }
    #expect(Self.failure((0..<257).flatMap { _ in lines }) == .tooManyFields(256))
    let empty = [Array("HTTP/1.1 100 \r\n".utf8), Array("\r\n".utf8)]
    #expect(Self.failure((0..<5000).flatMap { _ in empty }) == .tooLarge(bytes: 65536))
  }

  @Test func trailersAreCountedAndIgnored() throws {
    let heads = try Self.read(["HTTP/1.1 200 OK\r\n", "\r\n", "Digest: x\r\n", " y\r\n", "\r\n"])
    #expect(heads.count == 1 && heads[0].fields.isEmpty)
    let trailers = [[UInt8]](repeating: Array("a: b\r\n".utf8), count: 257)
    #expect(Self.failure([Array("HTTP/1.1 200 OK\r\n".utf8), Array("\r\n".utf8)] + trailers) == .tooManyFields(256))
  }

  @Test func capsAreExact() throws {
    let status = Array("HTTP/1.1 200 OK\r\n".utf8)
    let field = Array("a: b\r\n".utf8)
    #expect(Self.failure([status] + [[UInt8]](repeating: field, count: 256) + [Array("\r\n".utf8)]) == nil)
    #expect(Self.failure([status] + [[UInt8]](repeating: field, count: 257)) == .tooManyFields(256))
    func long(_ count: Int) -> [UInt8] {
      Array("a:".utf8) + [UInt8](repeating: 120, count: count - 4) + Array("\r\n".utf8)
    }
    #expect(Self.failure([status, long(65536 - status.count)]) == nil)
    #expect(Self.failure([status, long(65537 - status.count)]) == .tooLarge(bytes: 65536))
    // What grows by being decoded is bounded too.
    #expect(
      Self.failure([status, Array("a:".utf8) + [UInt8](repeating: 0xff, count: 40000) + Array("\r\n".utf8)])
        == .tooLarge(bytes: 65536))
  }

  @Test(
    arguments: [
      ([], .none), ([("content-length", "0")], .value(0)),
      ([("content-length", "5"), ("content-length", "5")], .value(5)),
      ([("content-length", "9223372036854775807")], .value(.max)), ([("transfer-encoding", "chunked")], .none),
    ] as [([(String, String)], ResponseHead.ContentLength)])
  func lengths(fields: [(String, String)], expected: ResponseHead.ContentLength) {
    #expect(Self.head(fields).contentLength == expected)
  }

  @Test(arguments: [
    [("content-length", "5"), ("content-length", "6")], [("content-length", "5, 5")], [("content-length", "-1")],
    [("content-length", "+1")], [("content-length", "")], [("content-length", "0x5")], [("content-length", "5 ")],
    [("content-length", "9223372036854775808")], [("content-length", "٥")],
    [("content-length", "5"), ("transfer-encoding", "chunked")],
    [("content-length", "5"), ("transfer-encoding", "gzip")],
  ])
  func contradictingLengths(fields: [(String, String)]) {
    guard case .contradicting = Self.head(fields).contentLength else {
      Issue.record("\(fields) is taken")
      return
    }
  }

  @Test(arguments: [
    ("chunked", true), ("Chunked", true), ("gzip, chunked", false), ("chunked, gzip", false),
    ("chunked, chunked", false),
    ("chunked;a=b", false), ("xchunked", false), ("identity", false), ("", false),
  ])
  func chunked(value: String, isUnderstood: Bool) {
    #expect(Self.head([("transfer-encoding", value)]).transferCoding == (isUnderstood ? .chunked : .other(value)))
    #expect(Self.head([]).transferCoding == .none)
  }

  @Test func saidTwice() {
    let twice = Self.head([("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")])
    #expect(twice.transferCoding == .other("gzip,chunked"))
  }

  @Test(
    arguments: [
      ([], nil), ([""], nil), (["identity"], nil), (["IDENTITY", ", "], nil), (["GZip"], "gzip"),
      (["", "br"], "br"), (["identity, gzip", "br"], "gzip, br"),
    ] as [([String], String?)])
  func contentCodings(values: [String], expected: String?) {
    #expect(Self.head(values.map { ("content-encoding", $0) }).contentCoding == expected)
  }

  @Test func datesThatDisagreeAreNone() {
    let (one, other) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT")
    #expect(Self.head([("date", one), ("date", one)]).date == 784_111_777)
    #expect(Self.head([("date", one), ("date", other)]).date == nil)
  }
}
