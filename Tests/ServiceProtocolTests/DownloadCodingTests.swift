import Basics
import Foundation
import ServiceProtocol
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct DownloadCodingTests {
  private func decode(_ text: String) throws -> DownloadValue {
    try FrameCodec.decode([DownloadValue].self, from: JSONEncoder().encode([text]))[0]
  }

  @Test("a download arrives as it was sent, whatever its texts hold", arguments: 0..<200) func roundTrip(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    func text() -> String {
      let pieces = ["a", "|", "\\", "\\p", "\\b", "ü", "\u{0}", "\"", "\n", "🎧", "e\u{301}", " ", "https://e.com/"]
      return (0..<random.below(6)).map { _ in pieces[random.below(pieces.count)] }.joined()
    }
    let value = DownloadValue(
      identifier: text(), uniqueIdentifier: text(), url: text(), httpMethod: text(),
      httpHeaders: Dictionary((0..<random.below(4)).map { _ in (text(), text()) }) { $1 },
      httpBody: random.chance(2) ? Data((0..<random.below(9)).map { _ in UInt8(random.below(256)) }) : nil,
      applicationGroupIdentifier: text(), fileSize: random.chance(3) ? nil : Int64(random.below(9)) - 4,
      isEssential: random.chance(2), priority: random.below(300) - 150, isManifest: random.chance(2),
      state: random.below(5) - 1)
    let frame = try FrameCodec.encode([value])
    #expect(try FrameCodec.decode([DownloadValue].self, from: frame.dropFirst(4)) == [value])
  }

  @Test("fields that a newer version adds are left out") func newer() throws {
    #expect(try decode("a|b|c|d|5|0|1|0|GET||1|name|value|more|still more").httpHeaders == ["name": "value"])
  }

  @Test(
    "what isn't a download is refused",
    arguments: [
      "", "a|b", "a|b|c|d|x|0|1|0|GET||0", "a|b|c|d|5|0|1|8|GET||0", "a|b|c|d|5|0|1|0|GET||1|name",
      "a|b|c|d|5|0|1|4|GET|*|0", "a|b|c|d|5|0|1|0|GET||-1", "a|b|c|d|5|0|1|0|GET||9223372036854775807",
      "a|b|c|d|99999999999999999999|0|1|0|GET||0",
    ])
  func malformed(text: String) { #expect(throws: FrameCodec.Violation.self) { try decode(text) } }
}
