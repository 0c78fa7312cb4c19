import Foundation
import LinuxSystem
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

@testable import outrider

/// The commands that go on: `--watch`, `--follow`, `install`, `launch`, also while the service is started anew.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ServiceFollowTests {
  /// What a scripted service tells of now.
  final class World: Sendable {
    let downloads = Mutex<[DownloadSummary]>([])
    let lines = Mutex<[LogLine]>([])
    /// Whether the extension has run for what was asked.
    let hasRun = Mutex(false)
    let app = Mutex(
      AppSummary.sample(state: .installing, isClosed: true, reason: "it is being installed", fraction: 0.1))
  }

  private static func service(_ world: World, executable: String = "/bin/true") throws -> ScriptedService {
    try ScriptedService { peer, id, request in
      switch request {
      case .downloads: peer.reply(id, .downloadList(world.downloads.withLock { $0 }))
      case .log: peer.reply(id, .log(world.lines.withLock { $0 }))
      case .apps: peer.reply(id, .apps([world.app.withLock { $0 }]))
      case .install:
        world.hasRun.withLock { $0 = true }
        peer.reply(id, .apps([world.app.withLock { $0 }]))
      case .runs:
        let run = RunSummary.sample(rejected: [.init(identifier: "x", code: 53, reason: "not allowed")])
        peer.reply(id, .runs(world.hasRun.withLock { $0 } ? [run] : []))
      case .launch(let app):
        let now = world.app.withLock { $0 }
        if now.gate.isClosed {
          peer.fail(id, .command(75, "its gate is closed"))
        } else {
          peer.reply(
            id,
            .launch(
              LaunchTicket(
                app: app, executable: executable, bundlePath: "/b", environment: ["OUTRIDER_TEST": "from the ticket"])))
        }
      default: peer.reply(id)
      }
    }
  }

  @Test("--watch tells every change, goes on when the service comes back, and tells nothing twice")
  func watch() throws {
    let world = World()
    world.downloads.withLock { $0 = [.sample("talk-1")] }
    let service = try Self.service(world)
    let command = try RunningCommand(["downloads", "--watch"], state: service.folder)
    #expect(command.wait(for: "talk-1: downloading, 1.0 MiB of 2.0 MiB"))
    service.tell(.download(.sample("talk-1", received: (1 << 20) + 1)))
    service.tell(.download(.sample("talk-1", state: "delivering", received: 2 << 20)))
    #expect(command.wait(for: "delivering"))
    service.die()
    #expect(command.wait(for: "the service has gone away"))
    world.downloads.withLock { $0 = [.sample("talk-1", state: "delivering", received: 2 << 20), .sample("talk-2")] }
    try service.start()
    #expect(command.wait(for: "talk-2: downloading"))
    command.interrupt()
    let end = command.finish()
    #expect(end.status == 130, "\(end)")
    #expect(end.output.split(separator: "\n").count == 3, "\(end.output)")
  }

  @Test("--watch --json is one object a line") func watchJSON() throws {
    let world = World()
    world.downloads.withLock { $0 = [.sample("talk-1"), .sample("talk-2")] }
    let service = try Self.service(world)
    let command = try RunningCommand(["downloads", "--watch", "--json"], state: service.folder)
    #expect(command.wait(for: "talk-2\"}") || command.wait(for: "talk-2"))
    command.interrupt()
    let lines = command.finish().output.split(separator: "\n")
    let downloads = try lines.map { try JSONDecoder().decode(DownloadSummary.self, from: Data($0.utf8)) }
    #expect(downloads.map(\.identifier) == ["talk-1", "talk-2"])
  }

  @Test("--watch draws a table in place, and what was drawn last stays") func watchOnATerminal() throws {
    let world = World()
    world.downloads.withLock { $0 = (1...40).map { .sample("talk-\($0)") } }
    let service = try Self.service(world)
    let (process, terminal) = try Self.onTerminal(["downloads", "--watch"], service, columns: 70)
    defer { close(terminal) }
    var screen = TerminalScreen(columns: 70)
    #expect(Self.read(terminal, into: &screen) { $0.last?.hasPrefix("and ") == true })
    #expect(screen.text.count == 23 && screen.text[0].hasPrefix("APP"), "\(screen.text)")
    service.tell(.download(.sample("talk-1", received: 3 << 19)))
    #expect(Self.read(terminal, into: &screen) { $0.contains { $0.contains("75 %") } })
    #expect(screen.text.count == 23 && screen.text.allSatisfy { $0.count < 70 }, "\(screen.text)")
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
  }

  private static func onTerminal(
    _ arguments: [String], _ service: ScriptedService, columns: UInt16
  ) throws -> (TestProcess, Int32) {
    var (terminal, end): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    try #require(openpty(&terminal, &end, nil, nil, &size) == 0)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging([ServicePaths.stateVariable: service.folder]) {
      $1
    }
    let handle = FileHandle(fileDescriptor: end, closeOnDealloc: true)
    process.standardOutput = handle
    process.standardError = handle
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return (process, terminal)
  }

  /// Reads until the screen shows what is looked for.
  private static func read(
    _ terminal: Int32, into screen: inout TerminalScreen, until isThere: ([String]) -> Bool
  ) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    var pending: [UInt8] = []
    while !isThere(screen.text) {
      var ready = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, 60_000) == 1 else { return false }
      let count = Glibc.read(terminal, &buffer, buffer.count)
      if count <= 0 { return false }
      pending += buffer[..<count]
      // A frame ends with the cursor's return; what is cut in two is drawn with its rest.
      guard let end = pending.lastIndex(of: UInt8(ascii: "\r")) else { continue }
      screen.take(String(decoding: pending[...end], as: UTF8.self))
      pending.removeFirst(end + 1)
    }
    return true
  }

  @Test("--follow prints each line once, also across a restart of the service") func follow() throws {
    func line(_ number: Int) -> LogLine {
      LogLine(at: "2026-11-22T10:00:0\(number)Z", level: "info", app: nil, event: "event-\(number)", detail: "")
    }
    let world = World()
    world.lines.withLock { $0 = [line(1), line(2), line(3)] }
    let service = try Self.service(world)
    let command = try RunningCommand(["log", "--follow", "--limit", "2"], state: service.folder)
    #expect(command.wait(for: "event-3"))
    service.tell(.line(line(4)))
    #expect(command.wait(for: "event-4"))
    service.die()
    #expect(command.wait(for: "gone away"))
    world.lines.withLock { $0 = (1...6).map(line) }
    try service.start()
    #expect(command.wait(for: "event-6"))
    command.interrupt()
    let end = command.finish()
    let events = end.output.split(separator: "\n").map { $0.split(separator: " ").last.map(String.init) ?? "" }
    #expect(events == [2, 3, 4, 5, 6].map { "event-\($0)" }, "\(end)")
  }

  // MARK: install

  /// A bundle that only the service looks into.
  private static func bundle(_ service: ScriptedService) throws -> String {
    let path = "\(service.folder)/Sessions.app"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private static let opened = AppSummary.sample()

  private static func closed(_ fraction: Double) -> AppSummary {
    .sample(state: .installing, isClosed: true, reason: "its essential downloads", fraction: fraction)
  }

  @Test("install shows each tenth, survives the service's death, and ends when the gate opens") func install() throws {
    let world = World()
    let service = try Self.service(world)
    let command = try RunningCommand(["install", try Self.bundle(service)], state: service.folder)
    #expect(command.wait(for: "Sessions: 10 %"))
    for step in 11...19 { service.tell(.app(Self.closed(Double(step) / 100))) }
    service.tell(.app(Self.closed(0.2)))
    #expect(command.wait(for: "Sessions: 20 %"))
    service.die()
    #expect(command.wait(for: "gone away"))
    world.app.withLock { $0 = Self.closed(0.5) }
    try service.start()
    #expect(command.wait(for: "Sessions: 50 %"))
    world.app.withLock { $0 = Self.opened }
    service.tell(.app(Self.opened))
    let end = command.finish()
    #expect(end.status == 0 && end.output == "com.example.sessions 1.2 launchable\n", "\(end)")
    #expect(end.errors.contains("Sessions may be launched: its essential downloads are here"), "\(end.errors)")
    #expect(end.errors.contains("rejected x: 53, not allowed"), "\(end.errors)")
    #expect(end.errors.split(separator: "\n").filter { $0.contains(" %,") }.count <= 5, "\(end.errors)")
  }

  @Test("install --json and --no-wait print the app and its run, and nothing else") func installJSON() throws {
    struct Report: Decodable { var app: AppSummary, run: RunSummary? }
    let world = World()
    let service = try Self.service(world)
    let bundle = try Self.bundle(service)
    let soon = try service.run("install", bundle, "--no-wait", "--json", "--share-group", "g")
    let report = try JSONDecoder().decode(Report.self, from: Data(soon.output.utf8))
    #expect(soon.status == 0 && report.app.gate.isClosed && report.run?.id == 7, "\(soon)")
    #expect(service.requests.contains(.install(Installation(path: bundle, sharedGroups: ["g"]))))
    _ = try service.run("update", bundle, "--no-wait")
    #expect(service.requests.contains(.install(Installation(path: bundle, mustExist: true))))
    let missing = try service.run("install", "/nonexistent/X.app")
    #expect(missing.status == 66 && missing.errors.contains("/nonexistent/X.app"), "\(missing)")
  }

  @Test("install and update print no run of what was installed before") func formerRun() throws {
    struct Report: Decodable { var run: RunSummary? }
    let world = World()
    world.hasRun.withLock { $0 = true }
    world.app.withLock { $0 = Self.opened }
    let service = try Self.service(world)
    let bundle = try Self.bundle(service)
    for command in ["install", "update"] {
      let words = try service.run(command, bundle)
      #expect(words.status == 0 && !words.errors.contains("rejected x"), "\(words)")
      let report = try JSONDecoder().decode(
        Report.self, from: Data(try service.run(command, bundle, "--json").output.utf8))
      #expect(report.run == nil)
    }
  }

  @Test("an interrupted install leaves the rest to the service, and says how to see and to end it")
  func interrupted() throws {
    let service = try Self.service(World())
    let command = try RunningCommand(["install", try Self.bundle(service)], state: service.folder)
    #expect(command.wait(for: "Sessions: 10 %"))
    command.interrupt()
    let end = command.finish()
    #expect(end.status == 130, "\(end)")
    #expect(end.errors.contains("'outrider installation cancel com.example.sessions' ends it"), "\(end.errors)")
    #expect(!service.requests.contains { if case .installation = $0 { true } else { false } })
  }

  @Test("install ends when an operator cancels the installation") func cancelled() throws {
    let service = try Self.service(World())
    let command = try RunningCommand(["install", try Self.bundle(service)], state: service.folder)
    #expect(command.wait(for: "Sessions: 10 %"))
    service.tell(.appRemoved(identifier: "com.example.sessions"))
    let end = command.finish()
    #expect(end.status == 1 && end.errors.contains("was cancelled"), "\(end)")
  }

  @Test("on a terminal install is one row that is drawn over and over") func installOnATerminal() throws {
    let world = World()
    let service = try Self.service(world)
    let (process, terminal) = try Self.onTerminal(["install", try Self.bundle(service)], service, columns: 90)
    defer { close(terminal) }
    var screen = TerminalScreen(columns: 90)
    #expect(Self.read(terminal, into: &screen) { $0.last?.contains(" 10 %") == true })
    service.tell(.app(Self.closed(0.6)))
    #expect(Self.read(terminal, into: &screen) { $0.last?.contains(" 60 %") == true })
    #expect(screen.text.count == 2 && screen.text[1].hasPrefix("Sessions █"), "\(screen.text)")
    service.tell(.app(Self.opened))
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  // MARK: launch

  private static func app(_ service: ScriptedService, _ script: String) throws -> String {
    let path = "\(service.folder)/app"
    try "#!/bin/bash\n\(script)\n".write(toFile: path, atomically: false, encoding: .utf8)
    chmod(path, 0o700)
    return path
  }

  @Test("launch waits at the gate, hands a connection of its own down, and becomes the app") func launch() throws {
    let world = World()
    let folder = Mutex("")
    let service = try ScriptedService { peer, id, request in
      switch request {
      case .apps: peer.reply(id, .apps([world.app.withLock { $0 }]))
      case .downloads: peer.reply(id, .downloadList([]))
      case .launch(let app):
        peer.reply(
          id,
          .launch(
            LaunchTicket(
              app: app, executable: folder.withLock { "\($0)/app" }, bundlePath: "/b",
              environment: ["TICKET": "from it"])
          ))
      default: peer.reply(id)
      }
    }
    folder.withLock { $0 = service.folder }
    _ = try Self.app(
      service,
      """
      echo "args: $* ticket: $TICKET"
      readlink /proc/$$/fd/$OUTRIDER_CONNECTION
      grep SigBlk /proc/self/status
      kill -INT $$
      sleep 60
      """)
    let command = try RunningCommand(["launch", "com.example.sessions", "--", "--list", "a b"], state: service.folder)
    #expect(command.wait(for: "Sessions: 10 %"))
    world.app.withLock { $0 = Self.opened }
    service.tell(.app(Self.opened))
    let end = command.finish()
    #expect(end.output.contains("args: --list a b ticket: from it\nsocket:["), "\(end)")
    #expect(end.output.contains("SigBlk:\t0000000000000000"), "no signal is blocked: \(end.output)")
    #expect(end.status == 128 + SIGINT, "the app's own end: \(end)")
    #expect(service.requests.contains(.hello(Hello(role: .operator, launches: "com.example.sessions"))))
  }

  @Test("launch says what hinders it") func refusedLaunch() throws {
    let world = World()
    world.app.withLock { $0 = Self.opened }
    let service = try Self.service(world, executable: "/nonexistent/app")
    let end = try service.run("launch", "com.example.sessions")
    #expect(end.status == 127 && end.errors.contains("/nonexistent/app"), "\(end)")
  }

  // MARK: simulate

  @Test("simulate prints the run, and fails with it [L12]") func simulate() throws {
    let service = try ScriptedService { peer, id, request in
      switch request {
      case .simulate(.install, _):
        peer.reply(id, .runs([.sample()]))
      case .simulate(let request, let app):
        peer.reply(id, .apps([.sample()]))
        var other = RunSummary.sample(kind: "returned")
        other.request = "callbacks"
        peer.send(.event(.run(other)))
        var run = RunSummary.sample(kind: "crashed")
        (run.request, run.app) = (request.rawValue, app)
        peer.send(.event(.run(run)))
      case .apps: peer.reply(id, .apps([.sample()]))
      default: peer.reply(id)
      }
    }
    let good = try service.run("simulate", "app-install", "com.example.sessions")
    #expect(good.status == 0 && good.output.contains("returned"), "\(good)")
    let bad = try service.run("simulate", "app-language-change", "com.example.sessions", "--json")
    #expect(bad.status == 1 && bad.output.contains("\"run\"") && bad.output.contains("crashed"), "\(bad)")
  }
}
