import AssetModel
import HostProtocol
import Testing

/// A decision on a challenge is the plugin's word: what the runner's own code couldn't have made is refused, and not quoted.
@Suite(.timeLimit(.minutes(1))) struct ChallengeCodingTests {
  /// A returned void with no lists and this decision.
  private static func frame(_ disposition: UInt8, _ user: [UInt8]?, _ password: [UInt8] = []) -> Frame {
    var writer = ByteWriter()
    writer.integer(UInt8(0))
    for _ in 0..<3 { writer.integer(UInt32(0)) }
    writer.boolean(true)
    writer.integer(disposition)
    writer.optional(user) { writer, user in
      writer.data(user)
      writer.data(password)
    }
    return Frame(kind: 67, id: 1, payload: writer.bytes)
  }

  private static func bytes(_ count: Int) -> [UInt8] { Array(repeating: UInt8(ascii: "x"), count: count) }

  @Test("what an extension can answer is taken") func takesAnswers() throws {
    for disposition in ChallengeDecision.Disposition.allCases {
      let message = RunnerMessage.returned(.init(value: .void, decision: ChallengeDecision(disposition)))
      #expect(try RunnerMessage(Self.frame(UInt8(disposition.rawValue), nil)) == message)
    }
    guard case .returned(let result) = try RunnerMessage(Self.frame(0, Self.bytes(255), Self.bytes(1023))) else {
      Issue.record("not an answer")
      return
    }
    #expect(result.decision?.credential?.password.utf8.count == 1023)
  }

  @Test(
    "what no extension can answer is refused",
    arguments: [
      frame(4, nil), frame(255, nil), frame(0, bytes(256)), frame(0, [], bytes(1024)), frame(0, [0]),
      frame(0, [], [120, 0]), frame(0, [0xff]), frame(1, bytes(3)), frame(2, []), frame(3, []),
    ])
  func refusesOthers(frame: Frame) {
    #expect { try RunnerMessage(frame) } throws: { !"\($0)".contains("xxx") }
  }
}
