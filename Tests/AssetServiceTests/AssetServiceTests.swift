import Foundation
import LinuxSystem
import ServiceProtocol
import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(2))) struct AssetServiceTests {
  @Test("What is to be explained and isn't there may have been an app or a download")
  func unknownSubject() async throws {
    let folder = NSTemporaryDirectory() + "unknown-\(UUID().uuidString)"
    defer { Files.removeTree(folder) }
    let service = try AssetService(.init(paths: ServicePaths(state: folder)))
    await service.start()
    guard case .failure(let failure) = await service.perform(.explain(subject: "nope")) else {
      Issue.record("it was explained")
      return
    }
    #expect(failure.code == 66 && failure.message == "no app and no download is called nope", "\(failure)")
    #expect(failure.remedy?.contains("outrider apps") == true)
    await service.stop()
  }
}
