import Basics
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct SeededGeneratorTests {
  @Test("The numbers of splitmix64, which journals go on from") func numbers() {
    var random = SeededGenerator(seed: 1_234_567)
    #expect(
      (0..<3).map { _ in random.next() } == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
      ])
  }

  @Test("A journal has it as one number, and goes on from it") func coding() throws {
    var random = SeededGenerator(seed: .max)
    _ = random.next()
    let data = try JSONEncoder().encode([random])
    #expect(String(decoding: data, as: UTF8.self) == "[\(UInt64.max &+ 0x9e37_79b9_7f4a_7c15)]")
    #expect(try JSONDecoder().decode([SeededGenerator].self, from: data) == [random])
  }

  @Test func fractions() {
    var random = SeededGenerator(seed: 7)
    #expect((0..<10_000).allSatisfy { _ in (0..<1).contains(random.fraction()) })
  }
}
