import AssetModel
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct CookieJarTests {
  private static let wall = "https://a.example/dir/file"

  /// The field of a request for `url` after one answer of `from` set these.
  private static func field(_ fields: [String], from: String = wall, for url: String = wall) throws -> String? {
    var jar = CookieJar()
    _ = jar.take(fields, from: try ParsedURL(from), now: 1_000_000)
    return jar.field(for: try ParsedURL(url))
  }

  @Test(
    arguments: [
      (["a=1"], "a=1"), (["a=1; Path=/; Secure; HttpOnly; SameSite=Lax"], "a=1"), ([" a = 1 ;x"], "a=1"),
      (["a="], "a="),
      (["a=1", "b=2"], "a=1; b=2"), (["a=1", "a=2"], "a=2"), (["a=1=2"], "a=1=2"), (["a=\"1\""], "a=\"1\""),
      (["a=1; Domain=example; Path=nonsense"], "a=1"), (["a=1; Max-Age=5"], "a=1"), (["a=1; Max-Age=x"], "a=1"),
      (["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9"], "a=1"),
      (["a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT"], "a=1"), (["b=1", "a=2; Path=/dir"], "b=1; a=2"),
      (["b=1; Path=/", "a=2; Path=/dir"], "a=2; b=1"),
    ] as [([String], String)])
  func keeps(_ fields: [String], _ field: String) throws { #expect(try Self.field(fields) == field) }

  @Test(arguments: [
    [], [""], ["a"], ["=1"], [";a=1"], ["a=1\u{1}"], ["a=\u{e9}"], ["a=1\r\nX: y"], ["a=1; Max-Age=0"],
    ["a=1; Max-Age=-1"], ["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], ["a=1", "a=; max-age=0"],
    ["a=1; Path=/other"], ["a=1; Path=/dir/file/deeper"], ["a=1; Path=/di"],
    ["a=" + String(repeating: "x", count: CookieJar.longestCookie)],
  ])
  func keepsNothing(_ fields: [String]) throws { #expect(try Self.field(fields) == nil) }

  /// Another host, port, scheme, or a host beneath is another origin, whatever the cookie's domain says.
  @Test(arguments: [
    "https://b.example/dir/file", "https://a.example:8443/dir/file", "http://a.example/dir/file",
    "https://x.a.example/dir/file", "https://example/dir/file",
  ])
  func staysAtItsOrigin(_ url: String) throws {
    #expect(try Self.field(["a=1; Domain=a.example; Path=/", "b=2; Domain=example; Path=/"], for: url) == nil)
  }

  @Test func saysWhetherAnythingIsNew() throws {
    var jar = CookieJar()
    let url = try ParsedURL(Self.wall)
    var news: [Bool] = []
    for field in ["a=1", "a=1", "b", "a=2", "a=2", "a=; Max-Age=0", "a=; Max-Age=0"] {
      news.append(jar.take([field], from: url, now: 0))
    }
    #expect(news == [true, false, false, true, false, true, false] && jar.field(for: url) == nil)
    news = [jar.take(["a=2"], from: url, now: 0), jar.take(["a=2"], from: try ParsedURL("https://b.example/"), now: 0)]
    #expect(news == [true, true], "another origin's")
  }

  @Test func isBounded() throws {
    let many = (0..<100).map { "c\($0)=" + String(repeating: "x", count: 1000) }
    let field = try #require(try Self.field(many))
    #expect(field.utf8.count <= CookieJar.longestField && field.split(separator: ";").count > 5)
    var jar = CookieJar()
    let url = try ParsedURL(Self.wall)
    let news = (0...CookieJar.maxCookies).map { jar.take(["c\($0)=1"], from: url, now: 0) }
    #expect(news == Array(repeating: true, count: CookieJar.maxCookies) + [false])
  }

  @Test func joinsWhatTheClientSent() throws {
    var jar = CookieJar()
    let url = try ParsedURL(Self.wall)
    let own = [Download.Header(name: "X-A", value: "b"), Download.Header(name: "cookie", value: "me=1")]
    #expect(jar.added(to: own, for: url) == own)
    _ = jar.take(["a=1"], from: url, now: 0)
    #expect(jar.added(to: own, for: url).map(\.value) == ["b", "me=1; a=1"])
    #expect(jar.added(to: [], for: url) == [Download.Header(name: "Cookie", value: "a=1")])
  }
}
