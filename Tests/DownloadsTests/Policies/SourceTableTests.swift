import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct SourceTableTests {
  private static func free(_ source: Int) -> SourceTable.Load { SourceTable.Load() }

  @Test("whatever happens, a source that isn't banned is asked", arguments: 1...5, 0..<40)
  func oneIsAsked(count: Int, seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var table = SourceTable(
      url: "a", mirrors: (1..<count).map { "\($0)" }, banned: seed % 3 == 0 ? random.next() : 0)
    for _ in 0..<60 {
      let source = Int(random.next() % UInt64(count))
      switch random.next() % 4 {
      case 0: _ = table.ban(source)
      case 1: table.failed(source, with: .init(problem: .truncated))
      case 2: table.succeeded(source)
      default: break
      }
      let next = table.next(Self.free)
      #expect(table.urls.indices.contains(next) && table.banned & 1 << UInt64(next) == 0)
      #expect(!table.hasOther(than: next) || table.next(Self.free) == next, "asking changes nothing")
    }
  }

  @Test func theFirstIsAskedFirstAndOthersWhenItIsBusyOrFails() {
    var table = SourceTable(url: "a", mirrors: ["b", "c"], banned: 0)
    #expect(table.next(Self.free) == 0)
    #expect(table.next { .init(transfers: $0 == 0 ? 1 : 0) } == 1, "the least busy one")
    #expect(table.next { .init(isResting: $0 < 2, transfers: $0) } == 2)
    #expect(table.next { .init(isRangeless: $0 != 1) } == 1)
    table.failed(0, with: nil)
    #expect(table.next(Self.free) == 1 && table.hasOther(than: 1))
    table.failed(1, with: nil)
    table.failed(2, with: nil)
    #expect(!table.hasOther(than: 2) && table.next(Self.free) == 0, "all failed: all are asked again")
    #expect(table.ban(0) && table.ban(1) && !table.ban(2), "the last one stays")
    #expect(table.next(Self.free) == 2)
  }

  @Test func whatIsWorthAnotherAttemptIsRemembered() {
    var table = SourceTable(url: "a", mirrors: ["b", "c"], banned: 0)
    table.failed(0, with: .init(problem: .status(410)))
    table.failed(1, with: .init(problem: .status(503), retryAfter: .seconds(9)))
    table.failed(2, with: .init(problem: .status(404)))
    #expect(table.failure?.problem == .status(503) && table.failure?.retryAfter == .seconds(9))
    for source in 0..<3 { table.succeeded(source) }
    #expect(table.failure == nil)
    var single = SourceTable(url: "a", mirrors: [], banned: .max)
    single.failed(0, with: .init(problem: .truncated))
    #expect(single.failure == nil && single.next(Self.free) == 0 && single.banned == 0)
  }
}
