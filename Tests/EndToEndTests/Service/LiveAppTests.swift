import AssetStore
import DevelopmentOrigin
import Foundation
import ServiceProtocol
import TestSupport
import Testing

/// Recipients that end, and a service that ends under an app that doesn't.
@Suite(.ownThreads, .timeLimit(.minutes(5))) struct LiveAppTests {
  private static func records(_ world: ServiceWorld) -> CallbackRecords {
    CallbackRecords(folder: world.container + "/Library/Caches")
  }

  private static func world(_ configure: (inout OriginConfiguration) -> Void = { _ in }) async throws -> ServiceWorld {
    let world = try ServiceWorld(configure)
    world.publish(["t0": 10])
    try world.start()
    _ = try await world.install(
      world.bundle(library: RecordingExtension.library.get(), executable: Workspace.products + "/delivery-recorder"))
    try await world.waitUntilOpen()
    try await world.waitUntilShelved(["t0": 10])
    return world
  }

  /// The length of the longest file that has begun to arrive.
  private static func maxStaged(_ world: ServiceWorld) -> Int64 {
    let lease = "\(world.paths.groups)/\(ServiceWorld.group)/lease"
    let names = FileManager.default.enumerator(atPath: lease)?.compactMap { $0 as? String } ?? []
    let sizes = names.map { try? FileManager.default.attributesOfItem(atPath: "\(lease)/\($0)")[.size] as? Int64 }
    return sizes.compactMap { $0 ?? nil }.max() ?? 0
  }

  /// Of settled downloads; none is left once every app was told.
  private static func dueDeliveries(_ world: ServiceWorld) throws -> Int {
    _ = try world.terminate()
    let store = try AssetStore(opening: world.paths.store)
    defer { try? store.close() }
    return try store.deliveries.pending().count
  }

  @Test("The service is killed and restarted under an app: its downloads go on, and it is told of each once (B37)")
  func restarts() async throws {
    let world = try await Self.world { $0.bytesPerSecond = 6_000_000 }
    let app = try #require(try RecorderApp(of: world))
    defer { app.stop() }
    let sizes = ["a1": 24 << 20, "a2": 1 << 20, "a3": 10]
    for (name, size) in sizes { world.origin.set("/\(name)", Resource(.pseudoRandom(seed: 5, count: size))) }
    app.ask(sizes.map { .init(identifier: $0.key, size: $0.value, isForeground: $0.key != "a3") })
    for round in 1...2 {
      // The journal hears of a file before it grows beyond 8 MiB; less may be received again.
      try await world.wait("bytes are written") { Self.maxStaged(world) > Int64(round) * 8 << 20 }
      world.kill()
      try world.start()
    }
    try await world.waitUntilShelved(sizes.merging(["t0": 10]) { $1 })
    try await world.wait("nothing is left") { try await world.downloads().isEmpty }
    #expect(app.isRunning)
    let records = Self.records(world)
    for name in sizes.keys {
      let entry = records[name]
      #expect(entry.offered == 1 && entry.done == 1 && entry.failed.isEmpty && entry.wrong.isEmpty, "\(name) \(entry)")
    }
    let resumed = world.origin.requests.filter { $0.path == "/a1" && $0.header("Range") != nil }
    #expect(!resumed.isEmpty, "what had arrived is kept")
    #expect(try Self.dueDeliveries(world) == 0)
  }

  @Test("An app that runs on through its update is known by its bundle also after the service restarts (B28)")
  func updated() async throws {
    let world = try await Self.world()
    let app = try #require(try RecorderApp(of: world))
    defer { app.stop() }
    world.origin.set("/a1", Resource(.pseudoRandom(seed: 5, count: 100)))
    app.ask([.init(identifier: "a1", size: 100)])
    try await world.waitUntilShelved(["t0": 10, "a1": 100])
    _ = try await world.install(
      world.bundle(
        version: "2.0", library: RecordingExtension.library.get(), executable: Workspace.products + "/delivery-recorder"
      ))
    try await world.wait("the update is placed") { try await world.summary()?.version == "2.0" }
    world.kill()
    try world.start()
    try await world.wait("the app is back") { try await world.summary()?.state == .running }
    world.origin.set("/a2", Resource(.pseudoRandom(seed: 5, count: 200)))
    app.ask([.init(identifier: "a2", size: 200)])
    try await world.waitUntilShelved(["t0": 10, "a1": 100, "a2": 200])
    #expect(Self.records(world)["a2"].offered == 1)
    let folder = "\(world.paths.apps)/\(ServiceWorld.app)"
    let versions = { try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "current" } }
    #expect(try versions().count == 2, "the bundle that it runs from stays")
    app.stop()
    world.kill()
    try world.start()
    try await world.wait("no process runs from it any more, and it goes") { try versions().count == 1 }
  }

  @Test(
    "A file in whose callback three recipients ended is kept as undelivered; what waited behind it is delivered (B13)",
    arguments: [false, true])
  func crashes(beginsWithApp: Bool) async throws {
    let world = try await Self.world()
    let session = try await world.connect()
    world.origin.set("/crash", Resource(.pseudoRandom(seed: 5, count: 70)))
    var expected = ["t0": 10]
    func ask(_ round: Int, _ more: [String: Int]) async throws {
      let sessions = more.merging(["t\(round)": 10 + round]) { $1 }
      world.publish(sessions)
      for (name, size) in sessions where name != "crash" { expected[name] = size }
      _ = try await session.request(.simulate(request: .periodic, app: ServiceWorld.app))
    }
    if beginsWithApp {
      let app = try #require(try RecorderApp(of: world))
      app.ask([.init(identifier: "crash", size: 70)])
      try await world.wait("the app has ended") { !app.isRunning }
    } else {
      try await ask(1, ["crash": 70, "d1": 5, "d2": 5])
    }
    for crash in (beginsWithApp ? 2 : 1)...3 {
      try await world.wait("crash \(crash)") { Self.records(world)["crash"].offered == crash }
      // Of the manifest that it crashed with, the extension isn't woken for now.
      if crash < 3 { try await ask(crash + 1, [:]) }
    }
    try await world.wait("it is undelivered") {
      try await world.downloads().contains { $0.identifier == "crash" && $0.state == "undelivered" }
    }
    try await ask(4, [:])
    try await world.waitUntilShelved(expected)
    try await world.wait("nothing else is left") { try await world.downloads().count == 1 }
    world.kill()
    try world.start()
    let after = try await world.downloads()
    #expect(after.map(\.state) == ["undelivered"])
    let records = Self.records(world)
    #expect(records["crash"].offered == 3 && records["crash"].done == 0)
    for name in expected.keys { #expect(records[name].done == 1 && records[name].wrong.isEmpty, "\(name)") }
    let lease = "\(world.paths.groups)/\(ServiceWorld.group)/lease"
    let left = try FileManager.default.contentsOfDirectory(atPath: lease).filter { !$0.hasPrefix(".") }
    #expect(left.count == 1, "\(left)")
    #expect(try Self.dueDeliveries(world) == 0)
  }
}
