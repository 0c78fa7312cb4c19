import AssetModel
import DevelopmentOrigin
import Downloads
import Foundation
import Testing

/// Rate caps that change while something is under way.
@Suite(.timeLimit(.minutes(2))) struct RatesTests {
  /// The clock stands still: by a cap alone nothing would ever go on.
  @Test(arguments: [true, false]) func changed(perClass: Bool) async throws {
    let scene = try await Scene(
      .background, clock: TestClock(jumpsWhenIdle: false),
      options: { if perClass { $0.classBytesPerSecond = [.background: 1000] } else { $0.bytesPerSecond = 1000 } },
      reply: { _, _ in nil })
    try await scene.engine.received(scene.id, 1)
    scene.engine.setRates(nil, classes: [.background: 2000, .foreground: 1])
    scene.engine.setRates(3000)
    let before = try #require(await scene.engine.progress(of: scene.id)).received
    #expect(before < Trial.size, "it is held")
    await scene.advance(by: .seconds(3600))
    scene.engine.setRates(nil)
    #expect(try await scene.end().isFinished)
    _ = try await scene.close()
  }
}

/// L11: who wants to know soon that there is no network is told so; the others wait.
@Suite(.timeLimit(.minutes(2))) struct ConnectivityTests {
  private static func scene(
    _ transferClass: TransferClass, isOnline: Bool = true,
    reply: @escaping @Sendable (RecordedRequest, Int) -> Reply? = { _, _ in nil }
  ) async throws -> Scene {
    var conditions = MachineConditions()
    conditions.isOnline = isOnline
    return try await Scene(
      transferClass, clock: TestClock(jumpsWhenIdle: false), conditions: conditions,
      options: { $0.connectivityTimeouts = [.foreground: .zero, .essential: .seconds(10)] }, reply: reply)
  }

  private static let offline = {
    var conditions = MachineConditions()
    conditions.isOnline = false
    return conditions
  }()

  @Test("a foreground download fails at once [B42, L11]") func aForegroundDownloadFailsAtOnce() async throws {
    let scene = try await Self.scene(.foreground, isOnline: false)
    let end = try await scene.end()
    #expect(end.reason == .offline, "\(end)")
    #expect(await scene.engine.explain(scene.id)?.code == .offline)
    let record = try await scene.close()
    #expect(record.state == .failed(TransferFailure(.offline, detail: "there is no network")))
    #expect(scene.origin.requests.isEmpty && scene.harness.staged.isEmpty)
    #expect(scene.harness.journal.state.withLock { $0.deliveries } == [scene.id])
  }

  @Test("a setting changes how long an essential one waits, at once [L11, L17]") func essentialBySetting() async throws
  {
    let scene = try await Self.scene(.essential, isOnline: false)
    // Its timeout begins when it is held.
    try await scene.engine.isHeld(scene.id, by: .offline)
    var conditions = Self.offline
    conditions.essentialTimeout = .seconds(60)
    scene.engine.setConditions(conditions)
    await scene.advance(by: .seconds(50))
    #expect(await scene.engine.explain(scene.id)?.code == .offline)
    await scene.advance(by: .seconds(11))
    #expect(try await scene.end().reason == .offline)
    _ = try await scene.close()
  }

  @Test("what power saving or a metered line interrupts says what it waits for, and begins again [X14]")
  func interrupted() async throws {
    for (code, change) in [
      (Explanation.Code.metered, { $0.isMetered = true }), (.powerSaver, { $0.isSavingPower = true }),
    ] as [(Explanation.Code, (inout MachineConditions) -> Void)] {
      let scene = try await Self.scene(.background) { _, nth in
        nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil
      }
      try await scene.engine.received(scene.id, 1 << 20)
      var conditions = MachineConditions()
      change(&conditions)
      scene.engine.setConditions(conditions)
      #expect(try await scene.isWaiting().code == code)
      scene.engine.setConditions(MachineConditions())
      try await scene.event { $0 == .started(scene.id) }
      #expect(try await scene.end().isFinished)
      _ = try await scene.close()
    }
  }

  @Test("an essential one has ten seconds, from when the network went [B42, L11]", arguments: [true, false])
  func essential(comesBack: Bool) async throws {
    let scene = try await Self.scene(.essential) { _, nth in
      nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil
    }
    try await scene.engine.received(scene.id, 1 << 20)
    scene.clock.advance(by: .seconds(30))
    scene.engine.setConditions(Self.offline)
    try await scene.engine.isHeld(scene.id, by: .offline)
    await scene.advance(by: .milliseconds(9900))
    #expect(await scene.engine.explain(scene.id)?.code == .offline)
    if comesBack {
      scene.engine.setConditions(MachineConditions())
    } else {
      await scene.advance(by: .milliseconds(200))
    }
    let end = try await scene.end()
    #expect(comesBack ? end.isFinished : end.reason == .offline, "\(end)")
    _ = try await scene.close()
    #expect(scene.harness.staged.isEmpty && scene.isWhole == comesBack)
  }

  @Test func othersWait() async throws {
    let scene = try await Self.scene(.background, isOnline: false)
    try await scene.engine.isHeld(scene.id, by: .offline)
    await scene.advance(by: .seconds(13 * 24 * 3600))
    #expect(await scene.engine.explain(scene.id)?.code == .offline)
    scene.engine.setConditions(MachineConditions())
    #expect(try await scene.end().isFinished)
    _ = try await scene.close()
  }
}
