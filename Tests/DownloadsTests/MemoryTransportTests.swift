import AssetModel
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

@testable import Downloads

/// The engine on another transport than libcurl: what it says to it, and what comes of it.
@Suite(.timeLimit(.minutes(2))) struct MemoryTransportTests {
  private static let content = Content.pseudoRandom(seed: 11, count: 3 << 20)

  private static func fetch(
    _ transport: MemoryTransport, clock: TestClock, as transferClass: TransferClass = .foreground,
    _ change: (inout EngineOptions) -> Void
  ) async throws -> Data? {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-downloads-")
    defer { Files.removeTree(folder) }
    var options = EngineOptions(transport: TransportOptions(addresses: AddressPolicy(), hosts: HostRules()))
    options.freeSpace = FreeSpacePolicy(minimum: 0, percent: 0)
    change(&options)
    let engine = try DownloadEngine(
      journal: MemoryJournal(), options: options, clock: clock, files: SystemFiles(), transport: transport)
    let events = engine.events
    _ = try await engine.add([
      DownloadSpecification(
        app: "app", identifier: "file", url: "https://example.com/file", transferClass: transferClass,
        directory: folder, fileName: "file")
    ])
    _ = try await events.first { if case .finished = $0 { true } else { false } }
    await engine.close()
    return FileManager.default.contents(atPath: "\(folder)/file")
  }

  @Test func whole() async throws {
    let transport = MemoryTransport(Self.content.bytes(in: 0..<Self.content.count))
    let data = try await Self.fetch(transport, clock: TestClock()) { _ in }
    #expect(data == Data(Self.content.bytes(in: 0..<Self.content.count)))
  }

  @Test("a transfer that waits for its share of the rate waits no longer than that") func rate() async throws {
    let transport = MemoryTransport(Self.content.bytes(in: 0..<Self.content.count))
    let data = try await Self.fetch(transport, clock: TestClock()) { $0.bytesPerSecond = 4 << 20 }
    #expect(data?.count == Self.content.count)
    let limits = transport.limitsWhilePaused.withLock { $0 }
    #expect(!limits.isEmpty && limits.allSatisfy { $0 < .seconds(1) }, "\(limits.max() ?? .zero)")
  }

  @Test(
    "a transfer in the background gives way where packets queue, and no other does", arguments: TransferClass.allCases)
  func window(transferClass: TransferClass) async throws {
    let transport = MemoryTransport(Self.content.bytes(in: 0..<Self.content.count))
    transport.receive.withLock {
      $0 = { .init(roundTrip: .milliseconds(300), shortestRoundTrip: .milliseconds(20), receivedBytes: $0) }
    }
    let data = try await Self.fetch(transport, clock: TestClock(), as: transferClass) { $0.bytesPerSecond = 1 << 20 }
    #expect(data?.count == Self.content.count)
    let windows = transport.windows.withLock { $0 }
    #expect(windows.isEmpty == !transferClass.isBackground, "\(windows)")
    #expect(windows.allSatisfy { $0 < 1 << 20 }, "\(windows)")
  }

  /// Every host of every redirect is one.
  @Test("origins that nothing needs any more are forgotten") func manyOrigins() async throws {
    let folder = try Files.temporaryDirectory(in: "/dev/shm", prefix: "outrider-downloads-")
    defer { Files.removeTree(folder) }
    var options = EngineOptions(transport: TransportOptions(addresses: AddressPolicy(), hosts: HostRules()))
    options.freeSpace = FreeSpacePolicy(minimum: 0, percent: 0)
    let transport = MemoryTransport([1, 2, 3])
    let (hub, mailbox) = (EventHub(), Mailbox(transport.waker))
    let thread = EngineThread(
      TransferEngine(
        options: options, clock: TestClock(), files: SystemFiles(), journal: MemoryJournal(), transport: transport,
        mailbox: mailbox, events: hub))
    try thread.engine.restore()
    let hasEnded = Latch()
    try Threads.detach("test.net") {
      thread.run()
      hasEnded.open()
    }
    let count = 4 * OriginRegistry.maxUnused
    for first in stride(from: 0, to: count, by: 128) {
      let events = hub.stream()
      let specifications = (first..<first + 128).map {
        DownloadSpecification(
          app: "app", identifier: "\($0)", url: "https://host\($0).example.com/file", transferClass: .foreground,
          directory: folder, fileName: "\($0)")
      }
      _ = try await mailbox.ask { .add(specifications, $0) }
      var finished = 0
      _ = try await events.first {
        if case .finished = $0 { finished += 1 }
        return finished == 128
      }
    }
    try await mailbox.ask { .close($0) }
    try await until { hasEnded.isOpen }
    // Twice as many as were used or kept when it was last looked at.
    #expect(thread.engine.origins.count <= 2 * (OriginRegistry.maxUnused + 128))
  }
}
