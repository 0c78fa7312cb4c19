import AssetModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct DownloadRulesTests {
  private static func download(_ change: (inout Download) -> Void = { _ in }) -> Download {
    var download = Download(
      identifier: "level-1", url: "https://assets.example.com/1", applicationGroupIdentifier: "group.game", fileSize: 10
    )
    change(&download)
    return download
  }

  private let rules = DownloadRules(applicationGroups: ["group.game"], request: .install)

  @Test(
    arguments: [
      download(), download { $0.isEssential = true }, download { $0.fileSize = nil }, download { $0.fileSize = 1 },
      download { $0.priority = -100 }, download { $0.priority = 100 }, download { $0.url = "HTTPS://example.com" },
      download { $0.url = "https://[::1]:8443/a?b#c" }, download { $0.url = "https://example.com/a@b?c@d" },
      download { $0.body = Array(repeating: 0, count: 65536) },
      download { $0.headers = [.init(name: "a", value: String(repeating: "x", count: 16383))] },
      download { $0.identifier = String(repeating: "x", count: 1024) }, download { $0.identifier = "日本 🎮" },
    ].map(Abbreviated.init))
  func accepts(_ download: Abbreviated<Download>) {
    let rejection = rules.rejectionReason(for: download.value)
    #expect(rejection == nil)
  }

  @Test(
    arguments: [
      (download { $0.fileSize = 0 }, 102, "fileSize is 0"), (download { $0.fileSize = -1 }, 102, "fileSize is -1"),
      (download { $0.fileSize = .min }, 102, "greater than zero"),
      (download { $0.priority = 101 }, 102, "priority 101"), (download { $0.priority = .min }, 102, "-100...100"),
      (download { $0.priority = .max }, 102, "-100...100"),
      (download { $0.url = "http://example.com/x" }, 102, "isn't https: http://example.com/x"),
      (download { $0.url = "" }, 102, "isn't https"), (download { $0.url = "https:/example.com" }, 102, "isn't https"),
      (download { $0.url = "https://" }, 102, "names no host"),
      (download { $0.url = "https:///x" }, 102, "names no host"),
      (download { $0.url = "https://?x" }, 102, "names no host"),
      (download { $0.url = "https://:443/x" }, 102, "names no host"),
      (download { $0.url = "https://user@/x" }, 102, "names no host"),
      (download { $0.url = "https://u@:1" }, 102, "names no host"),
      (download { $0.url = "https://user@[::1]:8443/a?b#c" }, 102, "of [::1]:8443 has a user name in it"),
      (download { $0.url = "https://user:secret@example.com/a" }, 102, "of example.com has a user name in it"),
      (download { $0.url = "https://a b/" }, 102, "isn't one"),
      (download { $0.url = "https://a/\u{1b}[2J" }, 102, "\\u{1b}"),
      (download { $0.url = "https://exämple.com/" }, 102, "isn't one"),
      (download { $0.url = "https://a/\u{0}" }, 102, "\\u{0}"),
      (download { $0.url = "https://a/" + String(repeating: "x", count: 8192) }, 102, "8202 bytes"),
      (download { $0.applicationGroupIdentifier = "group.other" }, 55, "group.other"),
      (download { $0.applicationGroupIdentifier = "" }, 55, "isn't one of the bundle's"),
      (download { $0.identifier = "" }, 102, "empty"),
      (download { $0.identifier = String(repeating: "é", count: 513) }, 102, "1026 bytes"),
      (download { $0.method = String(repeating: "M", count: 33) }, 102, "method has 33 bytes"),
      (download { $0.body = Array(repeating: 0, count: 65537) }, 102, "body has 65537 bytes"),
      (download { $0.headers = Array(repeating: .init(name: "a", value: ""), count: 65) }, 102, "65 headers"),
      (
        download { $0.headers = [.init(name: "ab", value: String(repeating: "x", count: 16383))] }, 102,
        "headers have 16385 bytes"
      ),
      (
        download { $0.applicationGroupIdentifier = String(repeating: "g", count: 1025) }, 102,
        "app group has 1025 bytes"
      ),
      (download { $0.identifier = "a\nb" }, 102, "control"),
      (download { $0.identifier = "a\u{202e}b" }, 102, "direction"),
      (download { $0.identifier = "a\u{0}" }, 102, "control"), (download { $0.identifier = "\r\n" }, 102, "control"),
    ].map { (Abbreviated($0.0), $0.1, $0.2) } as [(Abbreviated<Download>, Int32, String)])
  func refuses(_ download: Abbreviated<Download>, _ code: Int32, _ reason: String) throws {
    let found = rules.rejectionReason(for: download.value)
    let rejection = try #require(found)
    let isOfThisOne = rejection.identifier == download.value.identifier
    #expect(rejection.code == code && isOfThisOne)
    #expect(rejection.reason.contains(reason), "\(rejection.reason)")
    #expect(Printable.text(rejection.reason, limit: .max) == rejection.reason, "a reason is safe to print")
  }

  @Test(
    arguments: [
      (.install, nil), (.update, nil), (.periodic, 109), (.languageChange, 109), (nil, 109),
    ] as [(ContentRequestKind?, Int32?)])
  func essentialOnesAreForInstallAndUpdate(_ request: ContentRequestKind?, _ code: Int32?) {
    let essential = Self.download { $0.isEssential = true }
    #expect(DownloadRules(request: request).rejectionReason(for: essential)?.code == code)
    #expect(DownloadRules(request: request).rejectionReason(for: Self.download()) == nil)
  }

  @Test func withoutABundleEveryGroupWillDo() {
    let other = Self.download { $0.applicationGroupIdentifier = "anything" }
    #expect(DownloadRules(request: .install).rejectionReason(for: other) == nil)
    #expect(DownloadRules(applicationGroups: [], request: .install).rejectionReason(for: other)?.code == 55)
  }

  @Test func oneRejectionDoesntHoldUpTheOthers() {
    let verdict = rules.validate([
      Self.download { ($0.identifier, $0.fileSize) = ("bad", 0) }, Self.download { $0.identifier = "good" },
      // The one that was refused before doesn't use up the name.
      Self.download { $0.identifier = "bad" }, Self.download { $0.identifier = "good" },
    ])
    #expect(verdict.accepted.map(\.identifier) == ["bad", "good"])
    #expect(verdict.rejected.map(\.code) == [102, 100])
    #expect(rules.validate([]) == DownloadRules.Verdict())
  }

  @Test func ordersAsTheyWouldBeTransferred() {
    func one(_ name: String, _ priority: Int64, essential: Bool = false) -> Download {
      Self.download { ($0.identifier, $0.priority, $0.isEssential) = (name, priority, essential) }
    }
    let answer = [
      one("d", 100), one("c", -100), one("b", 0, essential: true), one("a", 5, essential: true), one("e", 100),
    ]
    #expect(rules.validate(answer).accepted.map(\.identifier) == ["a", "b", "d", "e", "c"])
    #expect(rules.validate(answer.reversed()).accepted.map(\.identifier) == ["a", "b", "d", "e", "c"])
  }
}
