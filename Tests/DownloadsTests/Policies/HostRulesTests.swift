import AssetModel
import Basics
import TestSupport
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct HostRulesTests {
  static func rules(
    _ domains: [String]? = nil, listed: Set<String> = [], ports: Set<Int> = [443], loopback: Bool = false
  ) -> HostRules {
    var rules = HostRules()
    rules.domains = domains
    rules.listedAddresses = listed
    rules.ports = ports
    rules.allowsPlainHTTPToLoopback = loopback
    return rules
  }

  static func rejectionReason(_ url: String, _ rules: HostRules = rules()) -> String? {
    do throws(ParsedURL.Failure) { return rules.rejectionReason(for: try ParsedURL(url)) } catch {
      return "no URL: \(error)"
    }
  }

  @Test(arguments: [
    "https://example.com/", "https://EXAMPLE.com:443/a?b#c", "https://a_b.example.com/",
    "https://xn--bcher-kva.example/", "https://localhost/",
  ])
  func allows(url: String) {
    #expect(Self.rejectionReason(url) == nil)
  }

  @Test(
    "addresses that are refused [B48 L9]",
    arguments: [
      "http://example.com/", "ftp://example.com/", "file:///etc/passwd", "https://user@example.com/",
      "https://user:pass@example.com/",
      "https://example.com@evil.example/", "https://example.com:8443/", "https://example.com:80/",
      "https://example.com./", "https://example..com/",
      "https://.example.com/", "https://bücher.example/", "https://exa%2fmple.com/", "https://example.com%00/",
      "https://127.0.0.1/", "https://8.8.8.8/",
      "https://[::1]/", "https://[2606:4700::1111]/", "https://[fe80::1%25eth0]/", "https://0x7f.1/",
      "https://2130706433/", "https://017700000001/",
      "https://127.1/", "https://0x7f000001/", "https://1.2.3.4.5/", "https://a.1/", "https://a.0x1f/", "https://a.0x/",
      "https://127.0.0.1./",
      "https://0x7f.1./", "https://-a.example/", "https://\(String(repeating: "a", count: 64)).example/",
      "https://\([String](repeating: "abcdefghi", count: 26).joined(separator: "."))/",
      "https://example.com/\(String(repeating: "a", count: 8192))",
      "https://exam\u{2024}ple.com/", "https://a\u{202e}b.example/", "https://ex*mple.com/", "javascript:alert(1)",
      "data:,x",
    ].map(Abbreviated.init))
  func refuses(url: Abbreviated<String>) throws {
    let rejectionReason = try #require(Self.rejectionReason(url.value))
    #expect(!rejectionReason.isEmpty && !rejectionReason.contains("\u{202e}") && !rejectionReason.contains("\n"))
  }

  @Test(arguments: [
    ("http://example.com/", "example.com", "use https"), ("https://u@example.com/", "example.com", "credentials"),
    ("https://example.com:8443/", "8443", "policy"),
    ("https://example.com./", "example.com.", "without"), ("https://bücher.example/", "", "punycode"),
    ("https://8.8.8.8/", "8.8.8.8", "list it"),
  ])
  func rejectionsNameHostAndRemedy(url: String, host: String, remedy: String) {
    // Where libcurl writes punycode itself, there is nothing to object to.
    guard let rejectionReason = Self.rejectionReason(url) else { return #expect(url.contains("ü")) }
    #expect((host.isEmpty || rejectionReason.contains(host)) && rejectionReason.contains(remedy))
  }

  static let matches: [(host: String, pattern: String, expected: Bool)] = [
    ("example.com", "example.com", true), ("example.com", "EXAMPLE.com", true),
    ("a.example.com", "*.example.com", true),
    ("a.b.example.com", "*.example.com", true), ("example.com", "*.example.com", false),
    ("evilexample.com", "*.example.com", false),
    ("example.com.evil.example", "*.example.com", false), ("a.example.com", "example.com", false),
    ("example.com", "*.com", false),
    ("example.com", "*", false), ("example.com", "*.", false), ("a.example.com", "**.example.com", false),
    ("a.example.com", "*example.com", false),
    ("a.example.com", "a.*.com", false), ("a.example.com", "*..com", false), ("a.example.com", "*.example.com.", false),
    ("a.example.com", "", false),
    ("10.0.0.1", "*.0.0.1", false), ("10.0.0.1", "10.0.0.1", true), ("[::1]", "[::1]", true),
    ("a.co.uk", "*.co.uk", true),
    ("kelvin.example", "\u{212a}elvin.example", false),
  ]

  @Test(arguments: matches) func patterns(host: String, pattern: String, expected: Bool) {
    #expect(HostRules.matches(host, pattern: pattern) == expected)
    #expect((Self.rejectionReason("https://\(host)/", Self.rules([pattern])) == nil) == expected)
  }

  @Test func anEmptyListAllowsNothing() {
    #expect(Self.rejectionReason("https://example.com/", Self.rules([]))?.contains("there are none") == true)
  }

  @Test func aPatternThatIsTooWideIsNamed() {
    #expect(Self.rejectionReason("https://example.com/", Self.rules(["*.com"]))?.contains("*.com is too wide") == true)
  }

  @Test func addressesHaveToBeListed() {
    let rules = Self.rules(listed: ["203.0.113.7", "[2001:DB8:0::1]"])
    for url in ["https://203.0.113.7/", "https://0xcb007107/", "https://[2001:db8::1]/"] {
      #expect(Self.rejectionReason(url, rules) == nil, "\(url)")
    }
    #expect(Self.rejectionReason("https://203.0.113.8/", rules) != nil)
    // The app's own list binds too.
    var narrowed = rules
    narrowed.domains = ["a.example"]
    #expect(Self.rejectionReason("https://203.0.113.7/", narrowed) != nil)
    narrowed.domains = ["a.example", "203.0.113.7"]
    #expect(Self.rejectionReason("https://203.0.113.7/", narrowed) == nil)
  }

  @Test(arguments: [
    ("http://127.0.0.1:8080/", true), ("http://[::1]:1/", true), ("http://localhost/", true),
    ("http://a.localhost:99/", true),
    ("https://127.0.0.1:8443/", true), ("https://0x7f.1:8443/", true), ("http://127.0.0.1.example.com/", false),
    ("http://localhost.example/", false),
    ("http://10.0.0.1/", false), ("https://example.com:8443/", false), ("http://u@127.0.0.1/", false),
    ("ftp://127.0.0.1/", false),
    ("http://[64:ff9b::7f00:1]/", false), ("http://notlocalhost/", false),
  ])
  func developmentOpensLoopbackAlone(url: String, isAllowed: Bool) {
    #expect((Self.rejectionReason(url, Self.rules(loopback: true)) == nil) == isAllowed)
  }

  /// A wildcard never lets a host through that doesn't end in it at a label boundary; what is let through is a plain name.
  @Test(arguments: 1...100 as ClosedRange<UInt64>) func nothingSlipsThrough(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = [
      "example", ".", "com", "-", "evil", "@", ":443", ":", "%2e", "/", "?", "#", "\\", "[", "]", "0x7f", "1", "*", "ü",
      "\u{200b}", "EXAMPLE", ".example.com",
    ]
    let rules = Self.rules(["*.example.com"])
    for _ in 0..<300 {
      let count = Int.random(in: 1...8, using: &random)
      let text = "https://" + (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &random)] }.joined()
      guard let url = try? ParsedURL(text), rules.rejectionReason(for: url) == nil else { continue }
      #expect(
        url.scheme == "https" && url.port == 443 && !url.hasUserInfo && url.host.hasSuffix(".example.com"),
        "seed \(seed): \(text)")
      // What is asked is what was checked.
      #expect((try? ParsedURL(url.text)) == url, "seed \(seed): \(text)")
    }
  }

  @Test(
    "behind a proxy a loopback address is the proxy's own: no request is led there",
    arguments: [
      "http://127.0.0.1/", "https://127.0.0.1/", "http://localhost/", "https://[::1]/",
    ])
  func loopbackBehindAProxy(url: String) throws {
    var rules = Self.rules(loopback: true)
    rules.allowsAnyPort = true
    rules.allowsAddressLiterals = true
    #expect(Self.rejectionReason(url, rules) == nil)
    rules.proxiedExcept = ""
    #expect(Self.rejectionReason(url, rules) != nil)
    rules.namesLoopback = true
    #expect(Self.rejectionReason(url, rules) == nil)
    rules.namesLoopback = false
    rules.proxiedExcept = "127.0.0.1,localhost,::1"
    #expect(Self.rejectionReason(url, rules) == nil)
  }

  @Test("what the list of allowed hosts refuses is known by its cause, and nothing else is")
  func causes() throws {
    var rules = HostRules()
    rules.domains = ["*.example.com"]
    func cause(_ url: String) throws -> FailureCause? { rules.rejection(of: try ParsedURL(url))?.cause() }
    let sentence = "other.org isn't among the allowed domains (*.example.com); add it to the list"
    #expect(try cause("https://other.org/") == .unlistedHost(why: sentence))
    #expect(try cause("https://a.example.com/") == nil)
    for url in ["https://user@a.example.com/", "http://a.example.com/", "https://a.example.com:1/"] {
      #expect(rules.rejectionReason(for: try ParsedURL(url)) != nil)
      #expect(try cause(url) == nil)
    }
    rules.domains = nil
    rules.ownDomains = ["*.example.com"]
    let redirected = rules.rejection(of: try ParsedURL("https://other.org/"))?.cause(redirectedBy: "https://b/")
    #expect(redirected == .unlistedHost(why: "redirected by https://b/: \(sentence)"))
  }
}
