import Foundation
import ServiceProtocol
import Testing

/// A run that is under way when its service is stopped.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct StoppedRunTests {
  @Test("A run that a stop cuts short is written down as that, and not as a failure of the host")
  func isWrittenDown() async throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include "background_assets_extension.h"
      #include <unistd.h>
      static ba_status request(const ba_host *host, const ba_content_request *request) { sleep(100); return BA_OK; }
      static const ba_entry_point entries[] = {
        {BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))request}};
      BA_EXPORT const ba_extension *background_assets_extension(uint32_t version) {
        static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "sleeper", entries, 1};
        return &extension;
      }
      """, "-I '\(Workspace.root)/Sources/CExtension/include' -o sleeper.so", in: folder)
    let world = try ServiceWorld()
    world.publish(["a": 10])
    try world.start()
    _ = try await world.install(world.bundle(library: folder + "/sleeper.so"))
    try await world.wait("the run is under way") { try await !world.runs().isEmpty }
    let number = try #require(try await world.runs().first).id
    #expect(try world.terminate() == 0)
    #expect(!world.log.contains("can't be written down") && !world.log.contains("hostFailed"), "\(world.log)")
    try world.start()
    let run = try #require(try await world.runs().first { $0.id == number })
    #expect(run.outcome.kind == "interrupted" && run.outcome.detail.contains("was stopped"), "\(run)")
  }
}
