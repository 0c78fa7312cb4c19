import Downloads
import Testing

@Suite(.timeLimit(.minutes(2))) struct ParsedURLTests {
  @Test(arguments: [
    ("https://Example.COM/a?b#c", "https://example.com/a?b"),
    ("https://example.com:8443", "https://example.com:8443/"),
    ("http://[::1]:80/x", "http://[::1]/x"),
    ("https://user:secret@example.com/x", "https://example.com/x"),
  ])
  func normalises(text: String, expected: String) throws {
    #expect(try ParsedURL(text).text == expected)
  }

  @Test func messagesNameThePortAndKeepSecrets() throws {
    let secret = try ParsedURL("https://user:secret@example.com:8443/x?token=1")
    #expect(secret.redacted == "https://example.com:8443/x?…")
    #expect(try ParsedURL("http://example.com:80/x").redacted == "http://example.com/x")
  }

  @Test func relativeTargetsAreResolved() throws {
    let base = try ParsedURL("https://a.example/one/two?q")
    #expect(try ParsedURL("../three", relativeTo: base).text == "https://a.example/three")
    #expect(try ParsedURL("//b.example/x", relativeTo: base).origin == "https://b.example:443")
    #expect(try ParsedURL("?z", relativeTo: base).text == "https://a.example/one/two?z")
  }

  /// What credentials are bound to.
  @Test func schemeHostAndPortMakeAnOrigin() throws {
    let texts = [
      "https://a.example/", "http://a.example/", "https://b.example/", "https://a.example:8443/",
      "http://a.example:443/",
    ]
    #expect(Set(try texts.map { try ParsedURL($0).origin }).count == texts.count)
    #expect(try ParsedURL("https://A.example:443/x?y").origin == ParsedURL(texts[0]).origin)
  }

  @Test(arguments: [
    "", "https://", "https://exa mple.com/", "https://example.com/\r\nX: y", "https://a\0b/", "no scheme",
  ])
  func refuses(text: String) {
    #expect(throws: ParsedURL.Failure.self) { try ParsedURL(text) }
  }

  @Test(
    "a URL without a host isn't read as one with the path's first part for it",
    arguments: ["http:///x", "https:///x", "HTTPS:////x", "http:/x", "https:/", "http:///"])
  func withoutHost(text: String) throws {
    #expect(throws: ParsedURL.Failure.malformed("it names no host")) { try ParsedURL(text) }
    let base = try ParsedURL("https://a.example/")
    #expect(throws: ParsedURL.Failure.self) { try ParsedURL(text, relativeTo: base) }
  }
}
