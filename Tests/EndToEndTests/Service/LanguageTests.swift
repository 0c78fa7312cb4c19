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
}
