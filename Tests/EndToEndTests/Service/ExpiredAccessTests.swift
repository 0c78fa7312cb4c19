import DevelopmentOrigin
import Foundation
import ServiceClient
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

/// F-38 with the whole service: the access to a file expires while it is on its way.
@Suite(.ownThreads, .timeLimit(.minutes(5))) struct ExpiredAccessTests {
  private static let size = 300_000
  private static let cut = 150_000

  /// `/t1` is cut in its middle and refused from then on, but for those who bring `accepted`. The manifest names `/t1` with
  /// the key 1 until the first refusal, then with the key 2.
  ///
  /// `isOfApp`: until then the manifest names nothing, and the app has to schedule it.
  private static func world(
    _ status: Int, accepted: String?, isEssential: Bool = false, isOfApp: Bool = false
  ) throws -> ServiceWorld {
    let state = Shared()
    let world = try ServiceWorld {
      $0.handler = { request, _ in
        switch request.path {
        case "/manifest.json":
          let key = state.refusals > 0 ? 2 : 1
          let text =
            isOfApp && key == 1
            ? #"{"sessions":[]}"#
            : String(decoding: state.manifest, as: UTF8.self).replacingOccurrences(of: "KEY", with: "\(key)")
          var reply = Reply()
          reply.body = .bytes(Array(text.utf8))
          return reply
        case "/t1" where request.header("Range") == nil && request.query == "key=1":
          var reply = Reply()
          reply.ending = .init(.close, after: .byte(Self.cut))
          return reply
        case "/t1" where request.query != accepted:
          state.refuse()
          return .status(status)
        default: return nil
        }
      }
    }
    world.publish(["t1": Self.size])
    let url = world.origin.url("/t1") + "?key=KEY"
    let session = #"{"id":"t1","title":"t1","url":"\#(url)","size":\#(Self.size),"essential":\#(isEssential)}"#
    state.setManifest(#"{"sessions":[\#(session)]}"#)
    return world
  }

  private final class Shared: Sendable {
    private let values = Mutex<(manifest: [UInt8], refusals: Int)>(([], 0))
    var manifest: [UInt8] { values.withLock { $0.manifest } }
    var refusals: Int { values.withLock { $0.refusals } }
    func setManifest(_ text: String) { values.withLock { $0.manifest = Array(text.utf8) } }
    func refuse() { values.withLock { $0.refusals += 1 } }
  }

  /// Another attempt is half a minute away at most: an operator ends the wait, unless it is over by itself.
  private static func hurry(_ world: ServiceWorld) async throws {
    func attempts() -> Int { world.origin.requests.filter { $0.path == "/t1" }.count }
    try await world.wait("it was cut") {
      if attempts() > 1 { return true }
      return try await world.downloads().contains { $0.waiting?.code == "retrying" }
    }
    guard attempts() == 1 else { return }
    let session = try await world.connect()
    defer { session.close() }
    _ = try await session.request(.act(action: .pause, download: "t1"))
    _ = try await session.request(.act(action: .resume, download: "t1"))
  }

  @Test(
    "F-38 the extension is asked once for another request, and no byte comes twice", arguments: [401, 403])
  func goesOn(status: Int) async throws {
    let world = try Self.world(status, accepted: "key=2")
    try world.start()
    _ = try await world.install(world.bundle())
    try await Self.hurry(world)
    try await world.waitUntilShelved(["t1": Self.size])
    let requests = world.origin.requests.filter { $0.path == "/t1" }
    #expect(requests.map(\.query) == ["key=1", "key=1", "key=2"])
    #expect(requests.map { $0.header("Range") } == [nil, "bytes=\(Self.cut)-", "bytes=\(Self.cut)-"])
    let runs = try await world.runs()
    #expect(Set(runs.map(\.request)).isSuperset(of: ["install", "periodic"]), "\(runs.map(\.request))")
    try await world.wait("nothing is left") { try await world.downloads().isEmpty }
  }

  @Test(
    "F-38 for what the app scheduled and left, its extension is asked, too; while the app runs, it isn't",
    arguments: [false, true])
  func ofTheApp(isRunning: Bool) async throws {
    let world = try Self.world(403, accepted: "key=2", isOfApp: true)
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilOpen()
    let failed = Mutex(false)
    let session = Mutex<ServiceSession?>(nil)
    let app = try await world.connect(Hello(role: .operator, launches: ServiceWorld.app)) { message in
      guard case .call(let id, let event) = message else { return }
      if case .failed = event { failed.withLock { $0 = true } }
      session.withLock { $0 }?.answer(id, .handled)
    }
    session.withLock { $0 = app }
    if isRunning { _ = try await app.request(.observe(isObserving: true)) }
    let download = DownloadValue(
      identifier: "t1", uniqueIdentifier: UUID().uuidString, url: world.origin.url("/t1") + "?key=1",
      applicationGroupIdentifier: ServiceWorld.group, fileSize: Int64(Self.size))
    _ = try await app.request(.schedule(download: download))
    if !isRunning { app.close() }
    try await Self.hurry(world)
    if isRunning {
      try await world.wait("its delegate is told") { failed.withLock { $0 } }
      #expect(world.origin.requests.allSatisfy { $0.query != "key=2" })
      app.close()
    } else {
      try await world.waitUntilShelved(["t1": Self.size])
      let ranges = world.origin.requests.filter { $0.path == "/t1" }.map { $0.header("Range") }
      #expect(ranges == [nil, "bytes=\(Self.cut)-", "bytes=\(Self.cut)-"], "no byte comes twice")
    }
    session.withLock { $0 = nil }
  }

  @Test("F-38 behind the closed gate the extension is asked for the installation once more")
  func behindTheGate() async throws {
    let world = try Self.world(403, accepted: "key=2", isEssential: true)
    try world.start()
    _ = try await world.install(world.bundle())
    try await Self.hurry(world)
    try await world.waitUntilOpen()
    try await world.waitUntilShelved(["t1": Self.size])
    let requests = world.origin.requests.filter { $0.path == "/t1" }
    #expect(requests.filter { $0.query == "key=2" }.count == 1)
    #expect(requests.dropFirst().allSatisfy { $0.header("Range") == "bytes=\(Self.cut)-" }, "no byte comes twice")
    #expect(try await world.runs().filter { $0.request == "install" }.count == 2)
    #expect(try await world.runs().allSatisfy { $0.request != "periodic" })
    let app = try #require(try await world.summary())
    #expect(!app.gate.isClosed)
    try await world.wait("nothing is left") { try await world.downloads().isEmpty }
  }

  @Test("F-38 behind the closed gate what is refused again opens it") func behindTheGateInVain() async throws {
    let world = try Self.world(403, accepted: nil, isEssential: true)
    try world.start()
    _ = try await world.install(world.bundle())
    try await Self.hurry(world)
    try await world.waitUntilOpen()
    // The example extension schedules what has failed once more, behind the open gate.
    let queries = world.origin.requests.filter { $0.path == "/t1" }.compactMap(\.query)
    #expect(queries.drop { $0 == "key=1" }.allSatisfy { $0 == "key=2" } && queries.contains("key=2"), "\(queries)")
    #expect(world.shelved().isEmpty)
  }

  @Test("F-38 what is refused again fails, and the extension isn't asked twice") func refusedAgain() async throws {
    let world = try Self.world(403, accepted: nil)
    try world.start()
    _ = try await world.install(world.bundle())
    try await Self.hurry(world)
    try await world.wait("its extension was told of the failure") {
      guard world.origin.requests.filter({ $0.path == "/t1" }).count > 2 else { return false }
      return try await world.downloads().isEmpty
    }
    #expect(world.origin.requests.filter { $0.path == "/t1" }.map(\.query) == ["key=1", "key=1", "key=2"])
    #expect(world.origin.requests.filter { $0.path == "/manifest.json" }.count == 2)
    #expect(world.shelved().isEmpty)
    try await world.wait("nothing is left of it") {
      try FileManager.default.subpathsOfDirectory(atPath: world.paths.groups).allSatisfy { !$0.contains("t1") }
    }
  }

  @Test("F-38 killed while the answer is awaited, the service asks again") func killed() async throws {
    let world = try Self.world(403, accepted: "key=2")
    try world.start()
    _ = try await world.install(world.bundle())
    try await Self.hurry(world)
    try await world.wait("it was refused") {
      world.origin.requests.filter { $0.path == "/t1" }.count >= 2
    }
    world.kill()
    try world.start()
    try await world.waitUntilShelved(["t1": Self.size])
    #expect(world.origin.requests.filter { $0.path == "/t1" && $0.header("Range") == nil }.count == 1)
  }
}
