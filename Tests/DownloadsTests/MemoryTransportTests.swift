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
    _ transport: MemoryTransport, clock: TestClock, _ change: (inout EngineOptions) -> Void
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
        app: "app", identifier: "file", url: "https://example.com/file", transferClass: .foreground,
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
}
