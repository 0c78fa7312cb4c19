import AssetModel
import HostProtocol
import Testing

@testable import PluginHost

/// A plugin may write into its channel what the runner's code would never say.
@Suite(.timeLimit(.minutes(1))) struct AnswerRuleTests {
  private static let download = Download(
    identifier: "a", url: "https://e.example.com/", applicationGroupIdentifier: "g", fileSize: 1)
  private static let challenge = HostMessage.Call.authenticationChallenge(
    download,
    ChallengeDescription(
      host: "", port: 0, protocolName: "", realm: "", authenticationMethod: "", previousFailureCount: 0))

  @Test("a challenge is answered by a decision, and nothing else is") func decisionsAnswerChallenges() throws {
    let plain = RunnerMessage.CallResult(value: .signed(0))
    let decided = RunnerMessage.CallResult(value: .signed(0), decision: ChallengeDecision(.cancel))
    try AnswerRule.check(decided, of: Self.challenge, signature: nil)
    try AnswerRule.check(plain, of: .downloadFinished(Self.download, path: "/a"), signature: nil)
    #expect(throws: ProtocolViolation.self) { try AnswerRule.check(plain, of: Self.challenge, signature: nil) }
    for call in [
      HostMessage.Call.downloadFinished(Self.download, path: "/a"),
      .contentRequest(kind: .install, manifest: "", remaining: 0, essentialRemaining: 0),
    ] {
      #expect(throws: ProtocolViolation.self) { try AnswerRule.check(decided, of: call, signature: nil) }
    }
    let both = RunnerMessage.CallResult(
      value: .signed(0), downloads: [Self.download], decision: ChallengeDecision(.cancel))
    #expect(throws: ProtocolViolation.self) { try AnswerRule.check(both, of: Self.challenge, signature: nil) }
  }
}
