import Foundation
import ServiceClient
import ServiceProtocol
import TestSupport
import Testing

/// A disk that is full while the service runs: here a file that may not grow any more.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FullJournalTests {
  /// Longest file that the process may write, as prlimit(1) takes it; the hard limit stays.
  private func limitFiles(_ process: Int32, to bytes: String) throws {
    let prlimit = try TestProcess.run(
      URL(fileURLWithPath: "/usr/bin/prlimit"), arguments: ["--pid", "\(process)", "--fsize=\(bytes):"])
    prlimit.waitUntilExit()
    try #require(prlimit.terminationStatus == 0)
  }

  private func failure(_ body: () async throws -> Void) async throws -> ServiceFailure? {
    do {
      try await body()
      return nil
    } catch let failure as ServiceFailure { return failure }
  }

  @Test("While the journal can't be written, nothing new is taken on, and what was decided is done when it can")
  func holds() async throws {
    let world = try ServiceWorld()
    world.publish(["e1": 1000])
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["e1": 1000])
    try await world.wait("nothing is left") { try await world.downloads().isEmpty }
    let session = try await world.connect()

    try limitFiles(world.pid, to: "1")
    let first = try await failure {
      _ = try await session.request(.set(key: "isMetered", value: "true", app: nil))
    }
    #expect(first?.message.contains("the journal can't be written") == true, "\(String(describing: first))")
    #expect(first?.remedy?.contains("free some space") == true)
    let second = try await failure {
      _ = try await session.request(.simulate(request: .periodic, app: ServiceWorld.app))
    }
    #expect(second?.message.contains("the journal can't be written") == true, "\(String(describing: second))")
    // What changes nothing is answered.
    #expect(try await world.summary()?.identifier == ServiceWorld.app)

    try limitFiles(world.pid, to: "unlimited")
    try await world.wait("the journal can be written again") { world.log.contains("can be written again") }
    world.kill()
    try world.start()
    let next = try await world.connect()
    guard case .settings(let settings) = try await next.request(.settings) else { throw Unexpected() }
    // Something else may have found the journal full first; then this was never taken on.
    #expect(settings.isMetered == first?.message.contains("this is done as soon as"))
    _ = try await next.request(.set(key: "isMetered", value: nil, app: nil))
  }

  private struct Unexpected: Error {}
}
