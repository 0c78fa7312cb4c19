import AssetStore
import LinuxSystem
import ServiceMachines
import Testing

@testable import AssetService

/// What the log says of a finished download whose author declared a size.
@Suite(.timeLimit(.minutes(2))) struct DeclaredSizeTests {
  @Test(
    "The log of an app names both sizes where a finished download has another one than was declared [B52]",
    arguments: [
      (999, "session, 1000 bytes, where 999 were declared"), (1000, "session, 1000 bytes"),
      (nil, "session, 1000 bytes"),
    ] as [(Int64?, String)])
  func finished(declared: Int64?, line: String) async throws {
    let scene = try EndedTransfer()
    defer { Files.removeTree(scene.folder) }
    let value = EndedTransfer.value(fileSize: declared)
    await scene.service.schedule(value, limits: .init(allowance: 1 << 30, essentialAllowance: 1 << 30, domains: nil))
    await scene.service.end(value, in: .finished, receiving: 1000, size: 1000)
    await scene.service.stop()
    let events = try AssetStore(opening: scene.paths.store).history.events(last: 100)
    #expect(events.filter { $0.kind == "downloaded" }.map(\.detail) == [line])
  }
}
