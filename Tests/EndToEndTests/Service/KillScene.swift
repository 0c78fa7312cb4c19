import AssetStore
import DevelopmentOrigin
import Foundation
import Glibc
import ServiceClient
import ServiceProtocol
import TestSupport

/// One service with one app through many rounds: everything that was ever delivered has to stay as it is.
final class KillScene: @unchecked Sendable {
  let world: ServiceWorld
  private let library: String
  private var app: RecorderApp?
  private var session: ServiceSession?
  private var version = 1
  private var salt = 0
  /// How often something was asked for again, because a killed extension had never answered.
  private(set) var requests = 0

  /// A service that isn't there is started: what killed it doesn't.
  var isRevived = false

  init() throws {
    world = try ServiceWorld { $0.bytesPerSecond = 4_000_000 }
    library = try RecordingExtension.library.get()
  }

  deinit { stopApp() }

  private var caches: String { world.container + "/Library/Caches" }

  // MARK: One round

  func run(_ round: KillRound) async throws {
    requests = 0
    publish(round.files)
    if round.hasApp { try startApp() }
    async let kills: Void = kill(round.kills)
    if round.trigger != .none { try await trigger(round.trigger) }
    ask(round.files.filter(\.isAppsOwn))
    try await kills
    if round.hasApp, app?.isRunning != true { try startApp() }
    try await waitUntilQuiet(round)
    try await check(round)
    stopApp()
  }

  private func publish(_ files: [KillRound.File]) {
    for file in files where !file.isRefused { world.origin.set("/\(file.identifier)", Resource(content(file))) }
    salt += 1
    let entries = files.filter { !$0.isAppsOwn }.map {
      #"{"id":"\#($0.identifier)","title":"x","url":"\#(url(of: $0))","size":\#($0.size),"essential":\#($0.isEssential)}"#
    }
    // A new digest each time: no quarantine is left from what was killed before.
    world.origin.set(
      "/manifest.json", Resource(.text(#"{"salt":\#(salt),"sessions":[\#(entries.joined(separator: ","))]}"#)))
  }

  private func url(of file: KillRound.File) -> String {
    file.isRefused ? "http://example.com/\(file.identifier)" : world.origin.url("/\(file.identifier)")
  }

  private func content(_ file: KillRound.File) -> Content {
    .pseudoRandom(seed: file.identifier.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }, count: file.size)
  }

  private func trigger(_ trigger: KillRound.Trigger) async throws {
    switch trigger {
    case .install, .update:
      version += 1
      let bundle = try world.bundle(
        version: "\(version).0", library: library, executable: Workspace.products + "/delivery-recorder")
      try await again { _ = try await self.request(.install(.init(path: bundle))) }
    case .periodic, .none:
      requests += 1
      try await again { _ = try await self.request(.simulate(request: .periodic, app: ServiceWorld.app)) }
    }
  }

  /// Through kills of the service.
  private func again(_ body: () async throws -> Void) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      do { return try await body() } catch {
        guard ContinuousClock.now < deadline else { throw error }
        try await Task.sleep(for: .milliseconds(5))
      }
    }
  }

  @discardableResult private func request(_ request: ClientRequest) async throws -> ServiceProtocol.Reply {
    if isRevived, !world.isRunning { try world.start() }
    if session?.isClosed ?? true { session = try await world.connect() }
    guard let session else { throw ServiceWorld.Trouble(description: "no session") }
    return try await session.request(request)
  }

  // MARK: The app

  private func startApp() throws {
    stopApp()
    app = try RecorderApp(of: world)
  }

  private func stopApp() {
    app?.stop()
    app = nil
  }

  /// Lines to an app that was killed are lost, and so asked for again once all is quiet.
  private func ask(_ files: [KillRound.File]) {
    app?.ask(files.map { .init(identifier: $0.identifier, size: $0.size, isForeground: $0.isForeground) })
  }

  // MARK: Kills

  private func kill(_ kills: [KillRound.Kill]) async throws {
    for kill in kills {
      try await Task.sleep(for: .milliseconds(kill.pause))
      switch kill.victim {
      case .service:
        world.kill()
        try world.start()
      case .app: app?.stop()
      case .runner: if let runner = Descendants.runners(of: world.pid).last { Glibc.kill(runner, SIGKILL) }
      case .forkServer: for server in Descendants.forkServers(of: world.pid) { Glibc.kill(server, SIGKILL) }
      }
    }
  }

  // MARK: The end of a round

  private func isShelved(_ file: KillRound.File) -> Bool {
    FileManager.default.fileExists(atPath: "\(world.shelf)/\(file.identifier)")
  }

  private struct Sight {
    var isQuiet: Bool
    /// The killed extension isn't woken for what there is to deliver, until its manifest changes.
    var isHeld: Bool
    var text: String
  }

  /// Nothing is under way: no gate is closed, no download listed, no run open.
  private func look() async throws -> Sight {
    let answers = (
      try await request(.apps(app: nil)), try await request(.downloads(app: nil)),
      try await request(.runs(app: nil, limit: 20))
    )
    guard case (.apps(let apps), .downloadList(let downloads), .runs(let runs)) = answers else {
      throw ServiceWorld.Trouble(description: "other answers")
    }
    let open = runs.filter { $0.outcome.kind == "running" }
    let isOpen = apps.allSatisfy { !$0.gate.isClosed && ($0.state == .launchable || $0.state == .running) }
    let isQuiet = isOpen && !apps.isEmpty && downloads.isEmpty && open.isEmpty
    let texts = [
      apps.map { "\($0.state) \($0.gate)" },
      downloads.map { "\($0.identifier) \($0.state) \(String(describing: $0.waiting))" },
      open.map { "run \($0.id) \($0.request)" },
    ]
    let isHeld =
      isOpen && open.isEmpty && apps.contains { $0.quarantine != nil }
      && downloads.allSatisfy { ["delivering", "failed"].contains($0.state) }
    return Sight(isQuiet: isQuiet, isHeld: isHeld, text: "\(texts)")
  }

  private func waitUntilQuiet(_ round: KillRound) async throws {
    let deadline = ContinuousClock.now + .seconds(40)
    var quietSince: ContinuousClock.Instant?
    var lastAsk: ContinuousClock.Instant?
    var last = ""
    while ContinuousClock.now < deadline {
      let sight = try? await look()
      last = sight?.text ?? last
      let now = ContinuousClock.now
      if sight?.isQuiet != true, sight?.isHeld == true {
        publish([])
        try await trigger(.periodic)
      }
      guard sight?.isQuiet == true else {
        quietSince = nil
        try await Task.sleep(for: .milliseconds(10))
        continue
      }
      quietSince = quietSince ?? now
      let records = CallbackRecords(folder: caches)
      let missing = round.files.filter { $0.isRefused ? records[$0.identifier].failed.isEmpty : !isShelved($0) }
      if missing.isEmpty { return }
      // A kill may have hit who was to ask: after a while it is asked for again, as a period or an app would.
      if let quietSince, now - max(quietSince, lastAsk ?? quietSince) > .milliseconds(200) {
        publish(missing)
        if missing.contains(where: { !$0.isAppsOwn }) { try await trigger(.periodic) }
        ask(missing.filter(\.isAppsOwn))
        lastAsk = now
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw ServiceWorld.Trouble(description: "it doesn't come to rest: \(last)\n\(world.log.suffix(3000))")
  }

  private func check(_ round: KillRound) async throws {
    var wrong: [String] = []
    let records = CallbackRecords(folder: caches)
    for file in round.files {
      let entry = records[file.identifier]
      wrong += entry.wrong
      let mayRepeat = round.kills.count + requests
      if file.isRefused {
        if entry.failed.count > 1 + mayRepeat { wrong.append("\(file.identifier) failed \(entry.failed.count) times") }
        continue
      }
      if entry.offered < 1 || entry.offered > 1 + round.kills.count {
        wrong.append("\(file.identifier) was offered \(entry.offered) times")
      }
      if entry.done > 1 { wrong.append("\(file.identifier) was done \(entry.done) times") }
      // 100: asked for again while it was under way.
      if !entry.failed.allSatisfy({ $0 == 100 }) { wrong.append("\(file.identifier) failed with \(entry.failed)") }
      let there = FileManager.default.contents(atPath: "\(world.shelf)/\(file.identifier)")
      if there != Data(content(file).bytes(in: 0..<file.size)) {
        wrong.append("\(file.identifier) has other bytes: \(there?.count ?? -1) of \(file.size)")
      }
    }
    for folder in ["\(world.paths.groups)/\(ServiceWorld.group)/lease", world.paths.store + "/manifests"] {
      let left = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { !$0.hasPrefix(".") }
      if !left.isEmpty { wrong.append("left in \(folder): \(left)") }
    }
    guard wrong.isEmpty else { throw ServiceWorld.Trouble(description: wrong.joined(separator: "\n")) }
  }

  /// Ends the service. Then nothing is left of downloads that no app knows any more.
  func checkStore() throws {
    _ = try world.terminate()
    let store = try AssetStore(opening: world.paths.store)
    defer { try? store.close() }
    let deliveries = try store.deliveries.pending()
    var open = 0
    try store.forEachOpenJob { _ in open += 1 }
    guard deliveries.isEmpty, open == 0 else {
      throw ServiceWorld.Trouble(description: "the store has \(open) open downloads and \(deliveries)")
    }
  }
}
