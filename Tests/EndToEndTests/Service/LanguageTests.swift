import Foundation
import ServiceProtocol
import TestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5))) struct LanguageTests {
  @Test("A service that starts with another preferred language asks the extension (B1)") func changes() async throws {
    let world = try ServiceWorld()
    world.publish(["t1": 1000])
    try world.start(environment: ["LC_ALL": "de_DE.UTF-8"])
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["t1": 1000])
    #expect(try world.terminate() == 0)
    world.publish(["t1": 1000, "t2": 2000])
    try world.start(environment: ["LC_ALL": "fr_FR.UTF-8"])
    try await world.waitUntilShelved(["t1": 1000, "t2": 2000])
    #expect(try await world.runs().contains { $0.request == "languageChange" })
  }

  @Test("Another language in the settings asks the extension of a running service, and the same one doesn't (B1)")
  func setting() async throws {
    let world = try ServiceWorld()
    world.publish(["t1": 1000])
    try world.start(environment: ["LC_ALL": "de_DE.UTF-8"])
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["t1": 1000])
    func settings(_ words: String...) throws -> (status: Int32, output: String, errors: String) {
      let end = try Workspace.run(["settings"] + words + ["--state", world.state])
      return (end.status, end.output, end.errors)
    }
    #expect(try settings("set", "language", "de_DE").status == 0)
    world.publish(["t1": 1000, "t2": 2000])
    #expect(try settings("set", "language", "fr-CA").status == 0)
    try await world.waitUntilShelved(["t1": 1000, "t2": 2000])
    #expect(try await world.runs().filter { $0.request == "languageChange" }.count == 1)
    #expect(try settings("get", "language").output == "fr-CA\n")
    let wrong = try settings("set", "language", "../x")
    #expect(wrong.status == 64 && wrong.errors.contains("language tag"), "\(wrong)")
  }
}
