import Foundation
import Testing

@testable import PluginHost

/// Where granted paths are attached, against links of all kinds.
@Suite(.timeLimit(.minutes(1))) struct GrantPlacesTests {
  private static let links = [
    "/g/a/link": "../b", "/g/a/far": "/x/hop", "/x/hop": "/y/real", "/g/a/self": "self", "/g/a/root": "/",
    "/g/a/up": "../../../../..", "/g/a/chain": "link/deep", "/g/b/deep": "./deeper/", "/var/run": "/run",
    "/g/a/ping": "pong", "/g/a/pong": "ping", "/usr/lib/x/docs": "gcc", "/lib": "usr/lib", "/g/a/via": "link/..",
    "/g/a/side": "/g/c", "/g/c/in": "/g/b",
  ]

  private static func place(_ path: String, among others: [String] = []) -> String {
    GrantPlaces([path] + others, runtime: ["/usr/lib", "/etc/ld.so.cache"]) { links[$0] }.place(of: path)
  }

  @Test(
    arguments: [
      // Nothing shows the link: the place is under its own name.
      ("/g/a/link", [], "/g/a/link"), ("/var/run/x", [], "/var/run/x"), ("/g/a/link/c", ["/g/b"], "/g/a/link/c"),
      // The folder that it lies in does.
      ("/g/a/link", ["/g/a"], "/g/b"), ("/g/a/link/c/d", ["/g/a"], "/g/b/c/d"), ("/g/a/via", ["/g/a"], "/g"),
      // One link after the other, as far as something shows it.
      ("/g/a/far", ["/g/a"], "/x/hop"), ("/g/a/far", ["/g/a", "/x"], "/y/real"),
      ("/g/a/chain", ["/g/a"], "/g/b/deep"), ("/g/a/chain", ["/g/a", "/g"], "/g/b/deeper"),
      // Behind a link of another grant.
      ("/g/a/link/deep/c", ["/g/a", "/g/a/link"], "/g/b/deeper/c"),
      // The runtime is shown to everyone.
      ("/usr/lib/x/docs", [], "/usr/lib/x/gcc"), ("/lib/x/docs", [], "/usr/lib/x/gcc"),
      // Out of bounds, round in circles.
      ("/g/a/root", ["/g/a"], "/"), ("/g/a/up", ["/g/a"], "/"), ("/g/a/self", ["/g/a"], "/g/a/self"),
      ("/g/a/ping", ["/g/a"], "/g/a/ping"),
      // By a link of an inner one the folder is shown that an outer one lies in.
      ("/g/c/in", ["/g/a", "/g/a/side"], "/g/b"), ("/g/c/in/x", ["/g/a", "/g/a/side"], "/g/b/x"),
      ("/g/c/in", ["/g/a/side"], "/g/c/in"),
      // Spelled otherwise.
      ("/g/./a//link/", ["/g/a/"], "/g/b"),
    ] as [(String, [String], String)])
  func places(_ path: String, _ others: [String], _ expected: String) {
    #expect(Self.place(path, among: others) == expected)
    #expect(Self.place(path, among: others.reversed()) == expected)
  }

  @Test("two names that look the same have two places") func spellings() {
    let places = GrantPlaces(["/g/\u{e9}", "/g/e\u{301}"], runtime: [])
    for name in ["/g/\u{e9}", "/g/e\u{301}"] { #expect(Array(places.place(of: name).utf8) == Array(name.utf8)) }
  }

  @Test("links that change while they are followed leave no place that holds")
  func changing() {
    #expect(GrantPlaces(["/g/a/link", "/g/a"], runtime: []) { Self.links[$0] }.isResolved)
    #expect(GrantPlaces([], runtime: []) { _ in nil }.isResolved)
    // The second leads elsewhere as soon as the first is followed.
    let links = ["/p/l": "/q", "/p/l/k": "/p"]
    #expect(!GrantPlaces(["/p/l", "/p/l/k"], runtime: []) { links[$0] }.isResolved)
  }
}
