import Foundation
import ServiceProtocol
import TestSupport
import Testing

@testable import outrider

/// The commands that list what the service has: tables for people, JSON for programs.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ServiceListTests {
  private static let waiting = DownloadSummary.Waiting(
    code: "network", data: ["host": "example.com"], remedy: "connect the machine")

  /// A service that has one of everything.
  static func service(
    apps: [AppSummary] = [.sample()], runs: [RunSummary] = [.sample()],
    settings: SettingsSummary = SettingsSummary(memoryBytes: 16 << 20)
  ) throws -> ScriptedService {
    try ScriptedService { peer, id, request in
      switch request {
      case .apps(let app): peer.reply(id, .apps(apps.filter { app == nil || $0.identifier == app }))
      case .downloads:
        // A long list comes in parts.
        peer.send(.part(id: id, reply: .downloadList([.sample("talk-1")])))
        peer.reply(id, .downloadList([.sample("talk-2", state: "waiting", waiting: Self.waiting)]))
      case .runs: peer.reply(id, .runs(runs))
      case .log:
        peer.reply(
          id, .log([LogLine(at: "2026-11-22T10:00:00Z", level: "info", app: "a", event: "woken", detail: "install")]))
      case .explain(let subject):
        peer.reply(
          id,
          .explanation(
            ExplanationSummary(
              kind: "app", subject: subject, code: "gate", data: ["left": "2"], message: "it is being installed",
              since: "2026-11-22T10:00:00.000Z", remedy: "its essential downloads")))
      case .settings: peer.reply(id, .settings(settings))
      case .status:
        peer.reply(
          id,
          .status(
            StatusSummary(
              process: 42, version: "0.1.0", startedAt: "2026-11-22T10:00:00.000Z", isDevelopment: true,
              socket: "/s", database: "/d", databaseBytes: 4096, apps: 1, downloads: 2, connections: 3,
              memoryBytes: 20 << 20)))
      default: peer.reply(id)
      }
    }
  }

  @Test("each list is a table, and with --json the protocol's own shape")
  func tablesAndJSON() throws {
    let service = try Self.service()
    let expected: [(arguments: [String], texts: [String])] = [
      (["apps"], ["IDENTIFIER", "com.example.sessions", "launchable", "100 %", "open"]),
      (
        ["apps", "com.example.sessions"], ["version: 1.2", "runtime today: 1.5 s of 600 s", "group group.com.example"]
      ),
      (["downloads"], ["talk-1", "talk-2", "50 %", "1.0 MiB/s", "network (host example.com): connect the machine"]),
      (["downloads", "list", "com.example.sessions"], ["talk-1"]), (["runs"], ["install", "returned", "12.3 ms"]),
      (["log"], ["2026-11-22T10:00:00Z info a woken: install"]),
      (["explain", "com.example.sessions"], ["it is being installed", "what ends it: its essential downloads"]),
      (["settings"], ["memoryBytes", "16777216"]),
      (["service", "status"], ["the service runs", "process: 42", "development", "20.0 MiB"]),
    ]
    for (arguments, texts) in expected {
      let end = try Self.run(service, arguments)
      #expect(end.status == 0 && texts.allSatisfy(end.output.contains), "\(arguments): \(end)")
    }
    func decoded<Value: Decodable>(_ type: Value.Type, _ arguments: String...) throws -> Value {
      let end = try Self.run(service, arguments + ["--json"])
      #expect(end.status == 0, "\(end)")
      #expect(!end.output.contains("\\/"), "slashes stay as they are")
      return try JSONDecoder().decode(type, from: Data(end.output.utf8))
    }
    #expect(try decoded([AppSummary].self, "apps") == [.sample()])
    #expect(try decoded([DownloadSummary].self, "downloads").map(\.identifier) == ["talk-1", "talk-2"])
    #expect(try decoded([RunSummary].self, "runs") == [.sample()])
    #expect(try decoded([LogLine].self, "log").map(\.event) == ["woken"])
    #expect(try decoded(ExplanationSummary.self, "explain", "talk-1").subject == "talk-1")
    #expect(try decoded(SettingsSummary.self, "settings") == SettingsSummary(memoryBytes: 16 << 20))
    #expect(try decoded([String: Int64].self, "settings", "get", "memoryBytes") == ["memoryBytes": 16 << 20])
  }

  @Test("where no download is open it is said what tells of those that are over") func noDownloads() throws {
    let service = try ScriptedService { peer, id, request in
      if case .downloads = request { peer.reply(id, .downloadList([])) } else { peer.reply(id) }
    }
    let end = try Self.run(service, ["downloads"])
    #expect(end.status == 0 && end.output.isEmpty, "\(end)")
    #expect(end.errors.contains("no downloads are open; 'outrider runs' has"), "\(end)")
  }

  private static func run(_ service: ScriptedService, _ arguments: [String]) throws -> Workspace.Finished {
    try Workspace.run(
      arguments,
      environment: [ServicePaths.stateVariable: service.folder, "OUTRIDER_SERVICE": "/nonexistent/outriderd"])
  }

  @Test("changes reach the service as it knows them")
  func requests() throws {
    let service = try Self.service()
    let commands: [([String], ClientRequest)] = [
      (["downloads", "pause", "t"], .act(action: .pause, download: "t")),
      (["downloads", "promote", "t"], .act(action: .promote, download: "t")),
      (["uninstall", "a"], .uninstall(app: "a")),
      (["installation", "cancel", "a"], .installation(app: "a", action: .cancel)),
      (
        ["settings", "set", "memoryBytes", "16MiB", "--app", "a"], .set(key: "memoryBytes", value: "16777216", app: "a")
      ),
      (["settings", "set", "runtimeSeconds", "10m"], .set(key: "runtimeSeconds", value: "600", app: nil)),
      (
        ["settings", "set", "periodicSeconds", "10m", "--app", "a"],
        .set(key: "periodicSeconds", value: "600", app: "a")
      ),
      (["settings", "set", "essentialWaitSeconds", "30s"], .set(key: "essentialWaitSeconds", value: "30", app: nil)),
      (["settings", "set", "isMetered", "yes"], .set(key: "isMetered", value: "true", app: nil)),
      (["settings", "set", "isMetered", "default"], .set(key: "isMetered", value: nil, app: nil)),
    ]
    for (arguments, request) in commands {
      let end = try Self.run(service, arguments)
      #expect(end.status == 0 && service.requests.contains(request), "\(arguments): \(end) \(service.requests)")
    }
    for wrong in [
      ["isMetered", "maybe"], ["memoryBytes", "much"], ["nonsense", "1"], ["isMetered", "on", "--app", "a"],
      ["backgroundWaitSeconds", "1h", "--app", "a"], ["periodicSeconds", "often"],
    ] {
      #expect(try Self.run(service, ["settings", "set"] + wrong).status == 64)
    }
    for (wrong, sentence) in [
      (["runtimeSeconds", "-5"], "runtimeSeconds is a time from 10 to 86400 seconds"),
      (["callSeconds", "2h"], "callSeconds is a time from 0.1 to 3600 seconds"),
      (["memoryBytes", "-5"], "memoryBytes is a size from 1MiB to 1048576MiB"),
      (["isMetered", "on", "off"], "isMetered takes one value, and 2 were given"),
      (["isMetered", "on", "--ap", "x"], "Unknown option '--ap'"), (["isMetered"], "Missing expected argument"),
    ] {
      let end = try Self.run(service, ["settings", "set"] + wrong)
      #expect(end.status == 64 && end.errors.contains(sentence), "\(wrong): \(end)")
    }
  }

  @Test("settings of an app are shown once it is installed, or has some of its own")
  func settingsOfAnApp() throws {
    var own = SettingsSummary.App()
    own.memoryBytes = 1 << 20
    let service = try Self.service(settings: SettingsSummary(apps: ["later": own]))
    for words in [["settings"], ["settings", "show"], ["settings", "get", "memoryBytes"]] {
      #expect(try Self.run(service, words + ["--app", "com.example.sessions"]).status == 0)
      #expect(try Self.run(service, words + ["--app", "later"]).output.contains("1048576"))
      let end = try Self.run(service, words + ["--app", "com.example.session"])
      #expect(end.status == 66 && end.errors.contains("no app com.example.session is installed"), "\(end)")
      #expect(end.output.isEmpty)
    }
  }

  @Test("a failure of the service is a sentence with its remedy, and an exit status")
  func failures() throws {
    let service = try ScriptedService { peer, id, request in
      switch request {
      case .apps: peer.fail(id, .command(75, "the database is busy", remedy: "try again"))
      case .runs: peer.reply(id)
      default: peer.fail(id, .framework(51, "it isn't\u{1b}[2J allowed"))
      }
    }
    let busy = try service.run("apps", "--json")
    #expect(busy.status == 75 && busy.errors.contains("the database is busy; try again"), "\(busy)")
    #expect(busy.output.contains("\"status\":75"), "\(busy)")
    let refused = try service.run("uninstall", "a")
    #expect(
      refused.status == 1 && refused.errors.contains("allowed") && !refused.errors.contains("\u{1b}"), "\(refused)")
    let odd = try service.run("runs")
    #expect(odd.status == 76 && odd.errors.contains("'done'"), "\(odd)")
    let unknown = try Self.service().run("apps", "com.example.missing")
    #expect(unknown.status == 66 && unknown.errors.contains("com.example.missing"), "\(unknown)")
  }

  @Test("names that were made to deceive a terminal are shown harmless")
  func hostileNames() throws {
    let name = "Good\u{1b}[2J\n\u{202e}evil"
    var run = RunSummary.sample(kind: "crashed", rejected: [.init(identifier: name, code: 53, reason: name)])
    run.log = [name]
    let service = try Self.service(apps: [.sample(name: name, reason: name)], runs: [run])
    for arguments in [["apps"], ["apps", "com.example.sessions"], ["runs"], ["explain", name], ["apps", "--json"]] {
      let end = try Self.run(service, arguments)
      #expect(end.status == 0, "\(end)")
      let isHarmless = end.output.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && $0.value != 0x202e }
      #expect(isHarmless && end.output.contains("evil"), "\(arguments): \(end.output.debugDescription)")
    }
  }

  @Test(
    "a table keeps to the terminal's width, and loses the texts' ends first", arguments: [20, 40, 60, 80, 120, 300])
  func width(columns: Int) {
    let app = AppSummary.sample(
      "com.example." + String(repeating: "long", count: 10), name: String(repeating: "名", count: 40),
      reason: String(repeating: "because ", count: 20))
    let lines = AppText.table([app, .sample()]).lines(width: columns)
    #expect(lines.count == 3)
    for line in lines { #expect(FetchRow.width(line) <= columns, "\(line)") }
    if columns >= 120 { #expect(lines[2].contains("launchable") && lines[2].contains("100 %"), "\(lines)") }
    let whole = AppText.table([app]).lines(width: nil)
    #expect(whole[1].contains(app.identifier) && whole[1].contains("名名名"), "nothing is cut where there is no terminal")
  }

  @Test("an installation's row keeps to the width and shows what is waited for", arguments: [20, 40, 80, 200])
  func installRow(columns: Int) {
    var board = InstallBoard(
      .sample(name: "S\u{1b}essions", isClosed: true, reason: "its essential downloads", fraction: 0.455))
    board.change(.download(.sample("talk-2", state: "waiting", waiting: Self.waiting)))
    let row = board.row(columns: columns)
    #expect(FetchRow.width(row) <= columns && row.contains(" 45 %") && !row.contains("\u{1b}"), "\(row)")
    if columns >= 80 { #expect(row.contains("█") && row.contains("essential"), "\(row)") }
    if columns >= 200 { #expect(row.contains("talk-2 waits for network"), "\(row)") }
    board.change(.app(.sample(isClosed: true, fraction: .nan)))
    #expect(board.row(columns: columns).contains("  0 %"))
  }

  @Test("durations and moments in words") func words() {
    #expect(ServiceWords.duration(0) == "0 s" && ServiceWords.duration(61) == "1 min 1 s")
    #expect(ServiceWords.duration(93_600) == "1 d 2 h" && ServiceWords.duration(.infinity) == "years")
    #expect(ServiceWords.duration(3600) == "1 h" && ServiceWords.duration(-5) == "0 s")
    let now = Date(timeIntervalSince1970: 1_000_000)
    #expect(ServiceWords.relative("1970-01-12T13:47:40Z", now: now) == "in 1 min")
    #expect(ServiceWords.relative("1970-01-12T13:46:30.000Z", now: now) == "10 s ago")
    #expect(ServiceWords.relative("soon") == "soon" && ServiceWords.relative(nil).isEmpty)
    #expect(ServiceWords.percent(0.999) == 99 && ServiceWords.percent(.nan) == 0 && ServiceWords.percent(7) == 100)
  }

  @Test("identifiers are completed from the installed apps; without a service there is silence")
  func completion() throws {
    let service = try Self.service(apps: [.sample("com.a"), .sample("com.b"), .sample("org.c"), .sample("com.$(x)")])
    let words = ["outrider", "launch", "com", "--state", service.folder]
    #expect(AppCompletion.identifiers(words, prefix: "com") == ["com.a", "com.b"])
    #expect(AppCompletion.identifiers(["outrider", "--state=/nonexistent"], prefix: "").isEmpty)
    let silent = try ScriptedService { _, _, _ in }
    #expect(AppCompletion.identifiers(["--state", silent.folder], prefix: "").isEmpty, "a service that doesn't answer")
  }
}
