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
    let first = answers.insert("x", of: "a", Self.failure(401), until: .seconds(10))
    let again = answers.insert("x", of: "a", Self.failure(403), until: .seconds(5))
    #expect(first && !again, "one request for a download at a time")
    #expect(answers.nextDeadline == .seconds(10))
    answers.remove("x", of: "a")
    #expect(answers.nextDeadline == nil)
    let second = answers.insert("x", of: "a", Self.failure(403), until: .seconds(20))
    #expect(second)
    // The time of the first one is over only now.
    let early = answers.takeOverdue(at: .seconds(19))
    #expect(early.isEmpty && answers.uniqueIdentifiers(of: "a") == ["x"])
    let due = answers.takeOverdue(at: .seconds(20))
    let twice = answers.takeOverdue(at: .seconds(20))
    #expect(due.map(\.app) == ["a"] && due.map(\.unique) == ["x"] && due.map(\.failure) == [Self.failure(403)])
    #expect(twice.isEmpty && answers.uniqueIdentifiers(of: "a").isEmpty && answers.nextDeadline == nil)
  }

  private struct Waiting: Equatable {
    var app: String
    var unique: String
    var deadline: Duration
  }

  /// Against a list of what waits, each with its deadline.
  @Test(
    "each request ends once: by its answer, by its time, or with all of its app", arguments: 0..<50 as Range<UInt64>)
  func once(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var answers = FreshAnswers()
    var waiting: [Waiting] = []
    var now = Duration.zero
    for _ in 0..<200 {
      now += .seconds(random.below(3))
      let (app, unique) = (["a", "b"][random.below(2)], ["x", "y", "z"][random.below(3)])
      let index = waiting.firstIndex { $0.app == app && $0.unique == unique }
      switch random.below(4) {
      case 0:
        let one = Waiting(app: app, unique: unique, deadline: now + .seconds(random.below(20)))
        let isNew = answers.insert(unique, of: app, Self.failure(401), until: one.deadline)
        #expect(isNew == (index == nil))
        if isNew { waiting.append(one) }
      case 1:
        answers.remove(unique, of: app)
        if let index { waiting.remove(at: index) }
      case 2:
        let taken = answers.takeOverdue(at: now)
        let overdue = waiting.filter { $0.deadline <= now }
        #expect(taken.count == overdue.count)
        #expect(overdue.allSatisfy { one in taken.contains { $0.app == one.app && $0.unique == one.unique } })
        waiting.removeAll { $0.deadline <= now }
      default:
        guard random.chance(5) else { continue }
        let mine = waiting.filter { $0.app == app }.map(\.unique).sorted()
        let all = answers.takeAll(of: app).map(\.unique)
        #expect(all == mine)
        waiting.removeAll { $0.app == app }
      }
      #expect(answers.nextDeadline == waiting.map(\.deadline).min())
      for app in ["a", "b"] {
        #expect(answers.uniqueIdentifiers(of: app) == waiting.filter { $0.app == app }.map(\.unique).sorted())
      }
    }
  }
}
