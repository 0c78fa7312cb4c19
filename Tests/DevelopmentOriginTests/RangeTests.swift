import DevelopmentOrigin
import Testing

@Suite(.timeLimit(.minutes(1))) struct RangeTests {
  static let content = Content.pseudoRandom(seed: 3, count: 1000)

  /// Status, Content-Range, and the bytes that should come.
  @Test(
    arguments: [
      ("bytes=0-0", 206, "bytes 0-0/1000", 0..<1), ("bytes=0-", 206, "bytes 0-999/1000", 0..<1000),
      ("bytes=999-", 206, "bytes 999-999/1000", 999..<1000), ("bytes=10-5000", 206, "bytes 10-999/1000", 10..<1000),
      ("bytes=-1", 206, "bytes 999-999/1000", 999..<1000), ("bytes=-5000", 206, "bytes 0-999/1000", 0..<1000),
      ("BYTES=5-9", 206, "bytes 5-9/1000", 5..<10), ("bytes=1000-", 416, "bytes */1000", nil),
      ("bytes=5000-6000", 416, "bytes */1000", nil), ("bytes=-0", 416, "bytes */1000", nil),
      ("bytes=99999999999999999999-", 416, "bytes */1000", nil),
      ("bytes=0-99999999999999999999", 206, "bytes 0-999/1000", 0..<1000),
      ("bytes=9-5", 200, nil, 0..<1000), ("bytes=a-b", 200, nil, 0..<1000), ("lines=0-1", 200, nil, 0..<1000),
      ("bytes=0-1,4-5", 200, nil, 0..<1000), ("bytes=", 200, nil, 0..<1000), ("bytes=-", 200, nil, 0..<1000),
      ("bytes=+1-2", 200, nil, 0..<1000),
    ] as [(String, Int, String?, Range<Int>?)])
  func ranges(_ field: String, _ status: Int, _ contentRange: String?, _ range: Range<Int>?) throws {
    let origin = try Origin { $0.resources["/a"] = Resource(Self.content) }
    defer { origin.stop() }
    let reply = RawClient.get(origin.port, "/a", headers: ["Range: \(field)"])
    #expect(reply.status == status)
    #expect(reply.header("Content-Range") == contentRange)
    if let range { #expect(reply.body == Self.content.bytes(in: range)) }
  }

  @Test(arguments: [
    (["If-None-Match: TAG"], 304), (["If-None-Match: W/TAG"], 304), (["If-None-Match: \"x\", TAG"], 304),
    (["If-None-Match: *"], 304), (["If-None-Match: \"x\""], 200), (["If-Match: TAG"], 200), (["If-Match: *"], 200),
    (["If-Match: W/TAG"], 412), (["If-Match: \"x\""], 412), (["If-Match: \"x,TAG\""], 412),
    (["If-Match: TAG", "If-None-Match: TAG"], 304), (["If-Modified-Since: DATE"], 304),
    (["If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT"], 200), (["If-Modified-Since: yesterday"], 200),
    (["If-Modified-Since: Friday, 31-Dec-49 00:00:00 GMT"], 304),
    (["If-Modified-Since: Fri Dec 31 00:00:00 2049"], 304),
    (["If-Modified-Since: Thu Jan  1 00:00:00 1970"], 200),
    (["If-Unmodified-Since: Thursday, 01-Jan-70 00:00:00 GMT"], 412),
    (["If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT"], 412), (["If-Unmodified-Since: DATE"], 200),
    (["Range: bytes=1-2", "If-Range: TAG"], 206), (["Range: bytes=1-2", "If-Range: W/TAG"], 200),
    (["Range: bytes=1-2", "If-Range: \"x\""], 200), (["Range: bytes=1-2", "If-Range: DATE"], 206),
    (["Range: bytes=1-2", "If-Range: Thu, 01 Jan 1970 00:00:00 GMT"], 200), (["Range: bytes=1-2", "If-Range: *"], 200),
    (["Range: bytes=1-2", "If-None-Match: TAG"], 304), (["Range: bytes=1-2", "If-Match: \"x\""], 412),
  ])
  func conditions(_ fields: [String], _ status: Int) throws {
    let origin = try Origin { $0.resources["/a"] = Resource(Self.content) }
    defer { origin.stop() }
    let first = RawClient.get(origin.port, "/a")
    let tag = try #require(first.header("ETag"))
    let date = try #require(first.header("Last-Modified"))
    let filled = fields.map { field in
      field.split(separator: "TAG", omittingEmptySubsequences: false).joined(separator: tag)
        .split(separator: "DATE", omittingEmptySubsequences: false).joined(separator: date)
    }
    let reply = RawClient.get(origin.port, "/a", headers: filled)
    #expect(reply.status == status)
    if status == 304 { #expect(reply.body.isEmpty && reply.header("ETag") == tag) }
  }

  @Test func digests() throws {
    let origin = try Origin {
      $0.resources["/a"] = Resource(.text("hello"))
    }
    defer { origin.stop() }
    #expect(RawClient.get(origin.port, "/a").header("Repr-Digest") == nil)
    let reply = RawClient.get(
      origin.port, "/a", headers: ["Want-Repr-Digest: md5=10, sha-512=0, sha-256=3", "Range: bytes=1-2"])
    #expect(reply.status == 206)
    #expect(reply.header("Repr-Digest") == "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:")
  }

  @Test(arguments: [ETagKind.strong, .weak, .none]) func tags(_ kind: ETagKind) throws {
    let origin = try Origin {
      $0.resources["/a"] = Resource(.text("hello"))
      $0.etag = kind
    }
    defer { origin.stop() }
    let tag = RawClient.get(origin.port, "/a").header("ETag")
    #expect(tag?.hasPrefix("W/") == (kind == .none ? nil : kind == .weak))
    origin.publish("/a", .text("other"))
    let next = RawClient.get(origin.port, "/a")
    #expect(next.body == Array("other".utf8))
    if kind != .none { #expect(next.header("ETag") != tag) }
  }
}
