import AssetModel
import Basics
import TestSupport
import Testing

@testable import AssetService

/// Downloads whose access expired, and what each of them waits for.
@Suite(.timeLimit(.minutes(1))) struct FreshAnswersTests {
  private static func failure(_ status: Int) -> TransferFailure {
    TransferFailure(.challenge, status: status, detail: "expired")
  }

  @Test("who was given up for an earlier request still waits for a later one") func later() throws {
    var answers = FreshAnswers()
    let first = answers.insert("x", of: "a", Self.failure(401))
    let again = answers.insert("x", of: "a", Self.failure(403))
    #expect(again == nil, "one request for a download at a time")
    answers.remove("x", of: "a")
    let second = answers.insert("x", of: "a", Self.failure(403))
    let numbers = (try #require(first), try #require(second))
    // The time of the first one is over only now.
    let early = answers.take("x", of: "a", number: numbers.0)
    let others = answers.take("x", of: "b", number: numbers.1)
    #expect(early == nil && others == nil && answers.uniqueIdentifiers(of: "a") == ["x"])
    let due = answers.take("x", of: "a", number: numbers.1)
    let twice = answers.take("x", of: "a", number: numbers.1)
    #expect(due == Self.failure(403) && twice == nil && answers.uniqueIdentifiers(of: "a").isEmpty)
  }

  /// Against a list of what waits, each with its number.
  @Test(
    "each request ends once: by its answer, by its time, or with all of its app", arguments: 0..<50 as Range<UInt64>)
  func once(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var answers = FreshAnswers()
    var waiting: [(app: String, unique: String, number: UInt64)] = []
    var numbers: [(app: String, unique: String, number: UInt64)] = []
    for _ in 0..<200 {
      let (app, unique) = (["a", "b"][random.below(2)], ["x", "y", "z"][random.below(3)])
      let index = waiting.firstIndex { $0.app == app && $0.unique == unique }
      switch random.below(4) {
      case 0:
        let number = answers.insert(unique, of: app, Self.failure(401))
        #expect((number == nil) == (index != nil))
        guard let number else { continue }
        #expect(!numbers.contains { $0.number == number })
        waiting.append((app, unique, number))
        numbers.append((app, unique, number))
      case 1:
        answers.remove(unique, of: app)
        if let index { waiting.remove(at: index) }
      case 2:
        guard let any = numbers.randomElement(using: &random) else { continue }
        let isWaiting = waiting.contains { $0 == any }
        let taken = answers.take(any.unique, of: any.app, number: any.number)
        #expect((taken != nil) == isWaiting)
        waiting.removeAll { $0 == any }
      default:
        guard random.chance(5) else { continue }
        let mine = waiting.filter { $0.app == app }.map(\.unique).sorted()
        let all = answers.takeAll(of: app).map(\.unique)
        #expect(all == mine)
        waiting.removeAll { $0.app == app }
      }
      for app in ["a", "b"] {
        #expect(answers.uniqueIdentifiers(of: app) == waiting.filter { $0.app == app }.map(\.unique).sorted())
      }
    }
  }
}
