import AssetModel
import LinuxSystem
import ServiceMachines
import Testing

@testable import AssetService

/// What a download used of an allowance, where its transfer was over before it said how far it was.
@Suite(.timeLimit(.minutes(2))) struct BookedBytesTests {
  @Test(
    "A transfer that ends without a word of its progress has used what the journal was charged with [B61, B64]",
    arguments: [
      JobState.finished, .cancelled, .failed(TransferFailure(.refused, detail: "no")),
    ])
  func ended(state: JobState) async throws {
    let scene = try EndedTransfer()
    defer { Files.removeTree(scene.folder) }
    let value = EndedTransfer.value(fileSize: 900_000)
    await scene.service.schedule(value, limits: .init(allowance: 1_000_000, essentialAllowance: 2 << 20, domains: nil))
    #expect(await scene.service.usedAllowance == 900_000, "reserved")
    await scene.service.end(value, in: state, receiving: 900_400, size: state == .finished ? 900_000 : nil)
    #expect(await scene.service.usedAllowance == 900_400)
    await scene.service.stop()
  }
}

extension AssetService {
  /// Of `BADownloadAllowance`.
  fileprivate var usedAllowance: Int64? { parts.decider.core.apps[EndedTransfer.app]?.restrictions.used(.other) }
}
