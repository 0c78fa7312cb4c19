import AssetModel
import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// A server's challenge goes to the extension, and a bounded answer comes back (B71 to B73).
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ExtensionChallengeTests {
  private static let question = ChallengeDescription(
    host: "e.example.com", port: 443, protocolName: "https", realm: "films",
    authenticationMethod: "NSURLAuthenticationMethodHTTPBasic", previousFailureCount: 2)

  private func answer(_ behaviour: String) async throws -> (ChallengeDecision, RunReport) {
    let scene = try ExtensionScene()
    defer { scene.remove() }
    let plugin = try await scene.load()
    let decision = try await plugin.authenticationChallenge(ExtensionScene.download(behaviour), Self.question)
    return (decision, await plugin.end())
  }

  @Test("B71: the extension sees the challenge, and its credential comes back") func answers() async throws {
    let (decision, report) = try await answer("answers")
    #expect(decision == ChallengeDecision(.useCredential, .init(user: "mallory", password: "s3cret")))
    #expect(report.messages == ["asked e.example.com:443 https films NSURLAuthenticationMethodHTTPBasic 2"])
    #expect(report.statuses.map(\.entryPoint) == ["authentication_challenge"])
  }

  @Test("nothing that describes a run or an answer shows the credential") func hidesTheCredential() async throws {
    let (decision, report) = try await answer("answers")
    var dumped = ""
    dump(decision, to: &dumped)
    dump(report, to: &dumped)
    for text in ["\(decision)", String(reflecting: decision), "\(decision.credential as Any)", "\(report)", dumped] {
      #expect(!text.contains("s3cret") && !text.contains("mallory"), "\(text)")
    }
  }

  @Test("B72: an extension that says nothing performs the default handling") func isNeutral() async throws {
    #expect(try await answer("silent").0 == ChallengeDecision(.performDefaultHandling))
  }

  @Test(
    "other answers have no credential",
    arguments: [("cancels", .cancel), ("rejects", .rejectProtectionSpace), ("empty", .useCredential)]
      as [(String, ChallengeDecision.Disposition)])
  func hasNoCredential(behaviour: String, disposition: ChallengeDecision.Disposition) async throws {
    #expect(try await answer(behaviour).0 == ChallengeDecision(disposition))
  }

  @Test(
    "an answer that is none cancels, and its credential isn't used in part",
    arguments: ["long-user", "long-password", "not-utf8", "unknown", "fails"])
  func cancels(behaviour: String) async throws {
    let (decision, report) = try await answer(behaviour)
    #expect(decision == ChallengeDecision(.cancel))
    #expect(report.outcome.kind == .returned)
  }

  @Test("255 bytes of a user and 1023 of a password fit") func hasRoom() async throws {
    let credential = try #require(try await answer("longest").0.credential)
    #expect(credential.user.utf8.count == 255 && credential.password.utf8.count == 1023)
    for (user, password) in [(256, 1), (1, 1024)] {
      let (user, password) = (String(repeating: "u", count: user), String(repeating: "p", count: password))
      #expect(ChallengeDecision.Credential(user: user, password: password) == nil)
    }
    #expect(ChallengeDecision.Credential(user: "a\0b", password: "") == nil)
  }

  @Test("B73: the handler's time is the extension's") func isBounded() async throws {
    var scene = try ExtensionScene()
    defer { scene.remove() }
    scene.limits.wallTime = .milliseconds(300)
    let plugin = try await scene.load()
    await #expect(throws: HostError.self) {
      try await plugin.authenticationChallenge(ExtensionScene.download("sleeps"), Self.question)
    }
    #expect(await plugin.end().outcome.kind == .wallTimeExceeded)
  }
}
