import AssetModel
import AssetStore
import Foundation
import TestSupport
import Testing

@testable import Downloads
@testable import outrider

@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchPartsTests {
  @Test func aListIsReadAsPeopleWriteIt() throws {
    func entries(_ text: String) throws -> [FetchList.Entry] {
      try FetchList.entries(in: Data(text.utf8), of: "list")
    }
    #expect(
      try entries("\u{feff}# one\r\n https://a/1 \t\r\n\t\r\nhttps://a/2") == [
        FetchList.Entry(url: "https://a/1", list: "list", line: 2),
        FetchList.Entry(url: "https://a/2", list: "list", line: 4),
      ])
    for text in ["", "\n\n", "# a\n  # b\n", "\u{feff}", "\t\r\n"] { #expect(try entries(text).isEmpty, "\(text)") }
    #expect(
      try entries("https://a/x y").map(\.url) == ["https://a/x y"], "blanks within are for the URL's parser to check")
  }

  @Test(
    "a list that isn't text is refused, wherever its NUL bytes are", arguments: ["\0", "\0https://a/2", "# \0", "a\0"])
  func aListWithZeros(line: String) {
    let failure = #expect(throws: Failure.self) {
      try FetchList.entries(in: Data("https://a/1\n\(line)\n".utf8), of: "list")
    }
    #expect(failure?.status == 64 && failure?.message.contains("list, line 2: has a NUL byte") == true)
  }

  @Test func theStateFolderIsWhereTheEnvironmentSays() {
    #expect(FetchState.base(["XDG_STATE_HOME": "/x", "HOME": "/h"], accountHome: "/a") == "/x")
    #expect(FetchState.base(["XDG_STATE_HOME": "x", "HOME": "/h"], accountHome: "/a") == "/h/.local/state")
    #expect(FetchState.base(["HOME": ""], accountHome: "/a") == "/a/.local/state")
    #expect(FetchState.base([:], accountHome: nil) == nil)
  }

  @Test func proxiesAreCheckedBeforeAnythingElse() throws {
    #expect(try FetchOptions.proxies([:]) == FetchOptions.Proxies())
    #expect(try FetchOptions.proxies(["https_proxy": "", "ALL_PROXY": "proxy:3128"]).secure == "proxy:3128")
    #expect(try FetchOptions.proxies(["HTTPS_PROXY": "socks5h://me:x@proxy"]).secure == "socks5h://me:x@proxy")
    for value in ["garbage://secret@x", "http://x:99999", "http://", "a b", "http://:80"] {
      for schemes in [["http"], ["https"], ["http", "https"]] as [Set<String>] {
        let failure = #expect(throws: Failure.self, "\(value)") {
          try FetchOptions.proxies(["all_proxy": value], schemes: schemes)
        }
        #expect(failure?.status == 64 && failure?.message.contains("all_proxy") == true)
        #expect(failure?.message.contains("secret") == false)
      }
    }
  }

  @Test func eachSchemeHasItsProxy() throws {
    typealias Proxies = FetchOptions.Proxies
    func proxies(_ schemes: Set<String>, _ environment: [String: String]) throws -> Proxies {
      try FetchOptions.proxies(environment, schemes: schemes)
    }
    let both = ["https_proxy": "https-one", "http_proxy": "http-one"]
    #expect(try proxies(["https"], both) == Proxies(secure: "https-one"))
    #expect(try proxies(["http"], both) == Proxies(secure: "https-one", plain: "http-one"))
    #expect(try proxies(["http", "https"], both) == Proxies(secure: "https-one", plain: "http-one"))
    #expect(try proxies(["http"], ["https_proxy": "x"]) == Proxies(secure: "x"), "redirects need it")
    #expect(try proxies(["http", "https"], ["http_proxy": "x"]) == Proxies(plain: "x"))
    #expect(try proxies(["https"], ["http_proxy": "garbage://x"]) == Proxies())
    #expect(try proxies(["http"], ["HTTP_PROXY": "x"]) == Proxies())
    #expect(try proxies(["http", "https"], ["all_proxy": "x"]) == Proxies(secure: "x", plain: "x"))
    let unusable = try proxies(["http"], ["https_proxy": "garbage://me:secret@x", "http_proxy": "y"])
    #expect(unusable.plain == "y" && unusable.secure?.contains(".invalid") == true, "no redirect goes without")
    #expect(FetchOptions.hasCredential("me:x@proxy:1") && !FetchOptions.hasCredential("http://proxy:1"))
  }

  @Test func authoritiesAreCertificates() {
    func block(_ label: String, _ content: String = "MAMCAQE=", end: String = "\n") -> String {
      "-----BEGIN \(label)-----\(end)\(content)\(end)-----END \(label)-----\(end)"
    }
    let good = block("CERTIFICATE")
    for text in [
      "x\n\(good)y\n", good + good, block("TRUSTED CERTIFICATE"), block("TRUSTED CERTIFICATE", "MAMCAQEF"),
      block("X509 CERTIFICATE"), block("CERTIFICATE", end: "\r\n"), block("CERTIFICATE", "MAMC\nAQE=", end: " \n"),
      block("X509 CRL", "AAAA") + good, String(good.dropLast()),
    ] {
      #expect(AuthorityText(text) == .certificates, "\(text)")
    }
    for text in ["", "MIIB", block("X509 CRL"), "-----BEGIN CERTIFICATE"] {
      #expect(AuthorityText(text) == .none, "\(text)")
    }
    for text in [
      block("CERTIFICATE", "AAAA"), block("CERTIFICATE", "hello"), block("CERTIFICATE", "MAMCAQEF"),
      block("CERTIFICATE", "MAMC"), block("CERTIFICATE", "MAMC!AQE="), block("CERTIFICATE", ""),
      "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END X-----\n",
      "-----BEGIN CERTIFICATE-----\n\(good)",
    ] {
      #expect(AuthorityText("a\n" + text) == .damaged(line: 2), "\(text)")
      #expect(AuthorityText(good + text + good) == .damaged(line: 4), "\(text)")
    }
  }

  static let moving = DownloadProgress(
    received: 123_456_789, durable: 0, total: 1 << 31, bytesPerSecond: 12_345_678, connections: 1)

  @Test(arguments: [10, 20, 39, 40, 60, 79, 120, 300]) func aRowNeverWraps(columns: Int) {
    let name = "日本語の名前がとても長いファイル-and-then-some.bin"
    let note = "waits for 36 s: retrying (lastError http://127.0.0.1:7733: Empty reply from the server) 日本語 \u{1b}[2J"
    for progress in [nil, Self.moving] {
      for note in [nil, note, ""] {
        let row = FetchRow.text(name, progress, note: note, columns: columns)
        #expect(FetchRow.width(row) <= columns && !row.contains("\u{1b}"), "\(row)")
      }
    }
    let row = FetchRow.text("a", Self.moving, note: note, columns: columns)
    #expect(row.hasSuffix("…") == (columns < 150), "\(row)")
  }

  @Test func widthsAreThoseOfTerminals() {
    #expect(FetchRow.width("abc") == 3 && FetchRow.width("日本") == 4 && FetchRow.width("e\u{301}█·…") == 4)
    #expect(FetchRow.width("👩‍👩‍👧") == 2 && FetchRow.width("🇩🇪") == 2)
    #expect(FetchRow.fit("日本語", 5) == "日本…" && FetchRow.fit("日本語", 4) == "日…" && FetchRow.fit("abc", 3) == "abc")
    #expect(FetchRow.text("a", Self.moving, note: nil, columns: 79).contains("█·"))
  }

  @Test func whatStopsIsNoWait() {
    func stop(lacksInodes: Bool = false) -> Explanation {
      let shortage = SpaceShortage(
        directory: "/v", device: 1, need: 20 << 20, free: 1 << 20, floor: 1024, purgeUntil: 30 << 20,
        lacksInodes: lacksInodes)
      return Explanation(.disk(shortage), endsIn: 5)
    }
    let full = stop()
    let words = FetchWords.wait(full)
    #expect(words.contains("20.0 MiB") && words.contains("same command") && !words.contains("5 s"), "\(words)")
    let inodes = FetchWords.wait(stop(lacksInodes: true))
    #expect(inodes.contains("inode") && !inodes.contains(" 0 B"), "\(inodes)")
    let retry = Explanation(.retrying(lastError: "x", attempts: 1, limit: 6), endsIn: 5)
    #expect(FetchWords.wait(retry) == "waits for 5 s, then tries again: x")
    let lock = FetchWords.wait(Explanation(.lock(holder: "process 7 (outrider)")))
    #expect(lock == "waits: process 7 (outrider) is fetching this file, too")
  }

  @Test("a background download that a low volume stops says below what") func stopsInTheBackground() {
    var shortage = SpaceShortage(
      directory: "/v", device: 1, need: 1024, free: 700 << 20, floor: 512 << 20, purgeUntil: 540 << 20)
    shortage.backgroundFloor = 1 << 30
    let words = FetchWords.wait(Explanation(.disk(shortage)))
    #expect(words.contains("no background download starts below 1.0 GiB") && words.contains("same command"), "\(words)")
  }

  @Test func whatHeldADownloadIsRemembered() throws {
    let disk = Explanation(.disk, data: ["need": "5", "volume": "/v"], endsIn: 5, remedy: "")
    let moment = StoredMoment(bootIdentifier: "", boot: 0, wall: 50)
    let specification = DownloadSpecification(
      app: "fetch", identifier: "a", url: "https://a/b", transferClass: .background, directory: "/", fileName: "b")
    let job = JobRecord(id: JobID(7), specification: specification, enqueued: moment)
    let event = try #require(FetchHold.event(job.id, disk, at: 100))
    #expect(event.job == job.id)
    let told = FetchHold.explanation(event, of: job, lastAttempt: nil)
    #expect(told?.code == .disk && told?.data == disk.data)
    func remedy(_ explanation: Explanation) -> String? {
      let event = FetchHold.event(job.id, explanation, at: 100)
      return FetchHold.explanation(event, of: job, lastAttempt: nil)?.remedy
    }
    var shortage = SpaceShortage(
      directory: "/v", device: 1, need: 30 << 20, free: 20 << 20, floor: 10 << 20, purgeUntil: 0)
    #expect(
      remedy(Explanation(.disk(shortage))) == "make 20.0 MiB of room on that volume, then run the same fetch again")
    shortage.lacksInodes = true
    #expect(remedy(Explanation(.disk(shortage)))?.hasPrefix("delete some files of that volume") == true)
    #expect(
      remedy(Explanation(.volume(code: 5, mount: "/v"))) == "the same fetch, run again when the volume works again")
    #expect(
      remedy(Explanation(.lock(holder: "process 7 (outrider)")))
        == "the same fetch, run again when process 7 (outrider) has fetched the file, or has ended")
    let later = Attempt(wall: 101, duration: 0, bytes: 0, status: nil, outcome: "")
    #expect(FetchHold.explanation(event, of: job, lastAttempt: later) == nil)
    #expect(FetchHold.event(job.id, Explanation(.retrying, remedy: ""), at: 1) == nil, "the row says it by itself")
  }
}
