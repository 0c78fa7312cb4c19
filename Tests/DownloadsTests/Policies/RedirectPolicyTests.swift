import AssetModel
import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct RedirectPolicyTests {
  static func decide(
    _ location: [String], from: String = "https://a.example/dir/one?token=secret", visited: [String] = [],
    status: Int = 302, loopback: Bool = false
  ) throws -> RedirectPolicy.Decision {
    RedirectPolicy.decide(
      status: status, location: location, from: try ParsedURL(from), visited: try visited.map { try ParsedURL($0) },
      rules: HostRulesTests.rules(["a.example", "*.b.example", "localhost"], loopback: loopback))
  }

  @Test(arguments: [
    ("https://a.example/two#frag", "https://a.example/two", false), ("two", "https://a.example/dir/two", false),
    ("/two", "https://a.example/two", false),
    ("?q", "https://a.example/dir/one?q", false), ("../two", "https://a.example/two", false),
    ("//x.b.example/z", "https://x.b.example/z", true),
    ("HTTPS://X.B.example/z", "https://x.b.example/z", true), ("https://a.example:443/z", "https://a.example/z", false),
  ])
  func follows(location: String, target: String, drops: Bool) throws {
    for status in [301, 302, 303, 307, 308] {
      #expect(try Self.decide([location], status: status) == .follow(try ParsedURL(target), dropsCredentials: drops))
    }
  }

  @Test(
    arguments: [
      ([], .refused), (["https://a.example/x", "https://a.example/y"], .hostileResponse),
      (["/x\r\nSet-Cookie: a"], .hostileResponse), (["/x\ty"], .hostileResponse),
      (["/\u{fffd}"], .hostileResponse), ([String(repeating: "x", count: 8193)], .hostileResponse),
      (["http://a.example/"], .notAllowed),
      (["//evil.example/"], .notAllowed), (["https://b.example/"], .notAllowed), (["https://xb.example/"], .notAllowed),
      (["https://a.example.evil.example/"], .notAllowed),
      (["https://a.example@evil.example/"], .notAllowed), (["https://u:p@a.example/"], .notAllowed),
      (["https://a.example./"], .notAllowed),
      (["https://a.example:8443/"], .notAllowed), (["https://127.0.0.1/"], .notAllowed),
      (["file:///etc/passwd"], .notAllowed), (["ftp://a.example/"], .notAllowed),
      (["https://a.example/dir/one?token=secret#x"], .refused), (["https://"], .refused),
      (["https://exa mple/?token=secret"], .refused), ([""], .refused), (["#part"], .refused),
    ] as [([String], TransferFailure.Reason)])
  func refuses(location: [String], reason: TransferFailure.Reason) throws {
    guard case .refuse(let failure) = try Self.decide(location) else {
      Issue.record("\(location) is followed")
      return
    }
    #expect(failure.reason == reason && failure.status == 302 && failure.hop == 1)
    #expect(!failure.detail.contains("secret") && !failure.detail.contains("\r"), "\(failure.detail)")
  }

  @Test(
    "who follows a redirect can't write its URL otherwise",
    arguments: [
      ("https://a.example./", "a.example. ends with a dot"),
      ("https://-a.example/", "-a.example isn't the name of a host"),
    ])
  func spelling(location: String, what: String) throws {
    guard case .refuse(let failure) = try Self.decide([location]) else {
      Issue.record("\(location) is followed")
      return
    }
    #expect(failure.detail.hasSuffix(" redirects to what isn't asked: \(what)"), "\(failure.detail)")
  }

  @Test(
    "of a redirect by another scheme that is said, also where it names no host",
    arguments: [
      ("file:///etc/passwd", "the URL is to be asked by file"), ("ftp://127.0.0.1/", "127.0.0.1 is to be asked by ftp"),
    ])
  func otherSchemes(location: String, what: String) throws {
    let decision = try Self.decide([location], from: "http://localhost/", loopback: true)
    guard case .refuse(let failure) = decision else { throw Unexpected("\(decision)") }
    let rule = "only https is followed, and http to loopback hosts"
    #expect(failure.detail.hasSuffix(" redirects to what isn't asked: \(what); \(rule)"), "\(failure.detail)")
    #expect(failure.reason == .notAllowed)
  }

  /// Each differs from the first in one part of the origin alone (RFC 6454, 5).
  @Test(arguments: [
    ("http://localhost:443/", "http://localhost:443/x", false),
    ("http://localhost:443/", "https://localhost:443/x", true),
    ("http://localhost:443/", "http://localhost:444/x", true),
    ("http://localhost:443/", "http://127.0.0.1:443/x", true),
    ("http://localhost/", "http://localhost:80/x", false), ("https://a.example/", "https://localhost/x", true),
  ])
  func everyPartOfAnOriginCounts(from: String, target: String, drops: Bool) throws {
    let decision = RedirectPolicy.decide(
      status: 302, location: [target], from: try ParsedURL(from), visited: [],
      rules: HostRulesTests.rules(
        ["a.example", "localhost"], listed: ["127.0.0.1"], ports: [80, 443, 444], loopback: true))
    #expect(decision == .follow(try ParsedURL(target), dropsCredentials: drops))
    #expect((try ParsedURL(from).origin == ParsedURL(target).origin) == !drops)
  }

  @Test func equalFieldsAreOne() throws {
    #expect(try Self.decide(["/x", "/x"]) == .follow(try ParsedURL("https://a.example/x"), dropsCredentials: false))
  }

  @Test func circlesEnd() throws {
    guard
      case .refuse(let failure) = try Self.decide(
        ["/two"], visited: ["https://a.example/two", "https://a.example/three"])
    else {
      Issue.record("a circle is followed")
      return
    }
    #expect(failure.reason == .refused && failure.hop == 3 && failure.detail.contains("circle"))
  }

  @Test func chainsEnd() throws {
    let visited = (0..<10).map { "https://a.example/\($0)" }
    guard case .follow = try Self.decide(["/new"], visited: Array(visited.dropLast())) else {
      Issue.record("the tenth redirect is refused")
      return
    }
    guard case .refuse = try Self.decide(["/new"], visited: visited) else {
      Issue.record("the eleventh redirect is followed")
      return
    }
  }

  @Test(arguments: [200, 300, 304, 305, 306, 399]) func otherStatusesLeadNowhere(status: Int) throws {
    guard case .refuse = try Self.decide(["/x"], status: status) else {
      Issue.record("\(status) is followed")
      return
    }
  }

  @Test func developmentNeverDowngradesHTTPS() throws {
    guard case .refuse(let failure) = try Self.decide(["http://localhost/"], loopback: true) else {
      Issue.record("https becomes http")
      return
    }
    #expect(failure.reason == .notAllowed)
    let up = try Self.decide(["https://a.example/"], from: "http://localhost/", loopback: true)
    #expect(up == .follow(try ParsedURL("https://a.example/"), dropsCredentials: true))
  }

  /// Any chain ends, and no step of it leaves the rules or carries credentials to another origin.
  @Test(arguments: 1...50 as ClosedRange<UInt64>) func everyChainEnds(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let targets = [
      "/a", "b", "../c", "?d", "//x.b.example/", "https://y.b.example/e", "https://a.example/f", "/\(seed)", "#g",
      "//evil.example/", "http://a.example/",
    ]
    var (url, visited, steps) = (try ParsedURL("https://a.example/"), [ParsedURL](), 0)
    let rules = HostRulesTests.rules(["a.example", "*.b.example"])
    while case .follow(let next, let drops, _) = RedirectPolicy.decide(
      status: 302, location: [targets[Int.random(in: 0..<targets.count, using: &random)]], from: url, visited: visited,
      rules: rules)
    {
      steps += 1
      #expect(
        steps <= 10 && rules.rejectionReason(for: next) == nil && drops == (next.origin != url.origin)
          && !visited.contains(next), "seed \(seed)")
      visited.append(url)
      url = next
    }
  }

  @Test(
    "what is no URL is shown without what may be secret",
    arguments: [
      (#"https:\/\/us:xyz@h/p?sig=xyz"#, "(hidden)@h/p"), ("https://us:xyz@h x/p?sig=xyz", "(hidden)@h x/p"),
      ("https://h:99999/p?sig=xyz", "https://h:99999/p"), ("https://h:99999/p#xyz", "https://h:99999/p"),
      ("https://us:xyz?xyz@h:99999/p", "(hidden)"), ("https://us:xyz@\u{301}h x/p", "(hidden)@\u{301}h x/p"),
      ("https://h:99999/@a/b@c", "(hidden)@c"),
    ])
  func malformedTarget(target: String, shown: String) throws {
    let decision = RedirectPolicy.decide(
      status: 302, location: [target], from: try ParsedURL("https://a.example/"), visited: [], rules: HostRules())
    guard case .refuse(let failure) = decision else { throw Unexpected("\(decision)") }
    #expect(!failure.detail.contains("xyz"), "\(failure.detail)")
    #expect(RedirectPolicy.shown(target) == shown)
    #expect(ParsedURL.shown(target) == Printable.text(shown))
  }

  @Test(
    "a URL is shown without its query and its user",
    arguments: [
      ("https://us:xyz@A.example:443/p?sig=xyz#xyz", "https://a.example/p?…"),
      ("https://a.example/p", "https://a.example/p"),
      ("a\u{1b}b", "a\\u{1b}b"), ("", ""),
    ])
  func shownURL(text: String, shown: String) { #expect(ParsedURL.shown(text) == shown) }

  @Test("credentials in a redirect are refused without being shown, with what to do") func credentials() throws {
    guard case .refuse(let failure) = try Self.decide(["https://user:secret@a.example/"]) else {
      throw Unexpected("followed")
    }
    #expect(
      failure.detail.hasSuffix(
        " redirects to a.example with a user name or password in the URL; credentials of a redirect aren't sent, "
          + "so ask for the URL at a.example itself, without them"), "\(failure.detail)")
    #expect(!failure.detail.contains("user:") && !failure.detail.contains(":secret"), "\(failure.detail)")
  }
}
