import Basics
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1)))
struct UniqueIdentifierTests {
  @Test("A unique identifier is a random UUID of version 4, written as Foundation writes it")
  func writesRandomUUIDs() throws {
    var seen: Set<String> = []
    for _ in 0..<1000 {
      let text = UniqueIdentifier.random()
      let identifier = try #require(UUID(uuidString: text), "\(text)")
      #expect(identifier.uuidString == text)
      #expect(identifier.uuid.6 >> 4 == 4)
      #expect(identifier.uuid.8 >> 6 == 2)
      #expect(seen.insert(text).inserted)
    }
  }
}
