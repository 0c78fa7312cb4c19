import DevelopmentOrigin
import Foundation
import ServiceProtocol
import Testing

/// Extensions behind a closed launch gate: one that has answered is over, whatever its essential downloads take.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct GatedRunTests {
  /// Its files come only with a credential, which the extension has.
  private static func world() throws -> ServiceWorld {
    try ServiceWorld {
      $0.handler = { request, _ in
        let isGiven = request.headers.contains {
          $0.name.lowercased() == "authorization" && $0.value == "Basic bWU6c2VjcmV0"
        }
        guard request.path != "/manifest.json", !isGiven else { return nil }
        var reply = Reply()
        reply.status = 401
        reply.setHeaders = [.init("WWW-Authenticate", "Basic realm=\"assets\"")]
        return reply
      }
    }
  }

  /// One file of its origin comes at 10 KiB a second.
  private static func slowWorld(_ path: String) throws -> ServiceWorld {
    try ServiceWorld {
      $0.handler = { request, _ in
        guard request.path == path else { return nil }
        var reply = Reply()
        reply.timing.slice = .init(size: 1 << 10, pause: .milliseconds(100))
        return reply
      }
    }
  }

  @Test("an extension answers the challenge of an essential download before the gate opens, at an update too (B71)")
  func challenge() async throws {
    let world = try Self.world()
    world.publish(["essential": 70_000, "later": 5000])
    try world.start()
    _ = try await world.install(world.bundle(library: Self.library.get()))
    try await world.waitUntilOpen()
    #expect(try await world.summary()?.gate.reason.contains("failed") == false, "\(world.log.suffix(4000))")
    try await world.waitUntilShelved(["essential": 70_000, "later": 5000])
    world.publish(["essential": 70_000, "essential2": 80_000])
    _ = try await world.install(world.bundle(version: "2.0", library: Self.library.get()))
    try await world.wait("the update is in place") { try await world.summary()?.version == "2.0" }
    try await world.waitUntilOpen()
    try await world.wait("the new file is there") { world.shelved()["essential2"] == 80_000 }
    try await world.wait("no run goes on") { try await world.runs().allSatisfy { $0.outcome.kind == "returned" } }
  }

  @Test("installations that wait for their essential downloads keep no other extension from being woken")
  func otherExtensions() async throws {
    // Takes minutes.
    let world = try Self.slowWorld("/essential")
    world.publish(["essential": 4 << 20])
    try world.start()
    let session = try await world.connect()
    defer { session.close() }
    func install(_ name: String) async throws {
      let bundle = try world.bundle(identifier: name)
      _ = try await session.request(.install(.init(path: bundle, sharedGroups: [ServiceWorld.group])))
    }
    for number in 1...3 { try await install("com.example.gated\(number)") }
    try await world.wait("each was asked") { try await world.runs().count == 3 }
    world.publish([:])
    try await install(ServiceWorld.app)
    try await world.waitUntilOpen()
    let runs = try await world.runs()
    for number in 1...3 {
      let own = runs.filter { $0.app == "com.example.gated\(number)" && $0.request == "install" }
      #expect(own.count == 1 && own[0].outcome.kind == "returned", "\(own)")
      #expect(try await world.summary("com.example.gated\(number)")?.gate.isClosed == true)
    }
    #expect(runs.contains { $0.app == ServiceWorld.app && $0.request == "install" }, "\(runs)")
  }

  @Test("a download whose identifier is taken already isn't counted as accepted") func rejectedAsScheduled()
    async throws
  {
    let world = try Self.slowWorld("/slow")
    world.publish([:])
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilOpen()
    world.publish(["slow": 200 << 10])
    let session = try await world.connect()
    defer { session.close() }
    for _ in 0..<2 { _ = try await session.request(.simulate(request: .periodic, app: ServiceWorld.app)) }
    try await world.wait("both are over") { try await world.runs().allSatisfy { $0.outcome.kind == "returned" } }
    let runs = try await world.runs().filter { $0.request == "periodic" }
    #expect(runs.map(\.downloads.accepted) == [1, 0], "\(runs)")
    #expect(runs.map { $0.downloads.rejected.map(\.code) } == [[], [100]], "\(runs)")
  }

  private static let library = Result {
    let folder = try LibraryTests.folder()
    let includes = "-I '\(Workspace.root)/Sources/CExtension/include' -I '\(Workspace.root)/Plugins/catalog-c'"
    try LibraryTests.compile(source, "-O1 \(includes) -o challenged.so", in: folder)
    return folder + "/challenged.so"
  }

  private static let source = """
    #define background_assets_extension catalog_extension
    #include "catalog.c"
    #undef background_assets_extension

    static ba_status challenged(
        const ba_host *host, const ba_download *download, const ba_challenge *challenge, ba_challenge_answer *answer) {
      (void)host, (void)download;
      answer->disposition = challenge->previous_failure_count ? BA_CANCEL_CHALLENGE : BA_USE_CREDENTIAL;
      strcpy(answer->user, "me");
      strcpy(answer->password, "secret");
      return BA_OK;
    }

    BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version);
    BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
      static ba_entry_point entries[8];
      static ba_extension extension;
      extension = *catalog_extension(host_abi_version);
      memcpy(entries, extension.entry_points, extension.entry_point_count * sizeof *entries);
      entries[extension.entry_point_count++] = (ba_entry_point){
        BA_AUTHENTICATION_CHALLENGE, BA_AUTHENTICATION_CHALLENGE_SIGNATURE, (void (*)(void))challenged};
      extension.entry_points = entries;
      return &extension;
    }
    """
}
