import AssetModel
import Basics
import TestSupport
import Testing

@testable import AssetService
@testable import Downloads

/// What waits until the journal of downloads can be read.
@Suite(.timeLimit(.minutes(1))) struct PostponedWorkTests {
  typealias Work = PostponedWork

  private static func download(_ name: String) -> Work.Subject { .download(.init(app: "a", download: name)) }
  private static func pause(_ name: String) -> Work.Item { .action(.pauseTransfer(app: "a", download: name)) }
  private static func resume(_ name: String) -> Work.Item { .action(.resumeTransfer(app: "a", download: name)) }

  @Test("what concerns a download is done in the order in which it was told, and what is told twice is done once")
  func order() {
    var work = Work()
    let x = Self.download("x")
    for item in [Self.pause("x"), Self.resume("x"), Self.pause("x"), .ending] { work.add(item, of: x) }
    #expect(work.isWaiting(x) && !work.isWaiting(Self.download("y")))
    let round = work.takeRound()
    #expect(round == [x])
    var done: [Work.Item] = []
    while let item = work.takeFirst(of: x) { done.append(item) }
    #expect(done == [Self.resume("x"), Self.pause("x"), .ending])
    #expect(work.isEmpty && !work.isWaiting(x))
  }

  @Test("of a job that isn't known the newest progress is kept, and everything else that happened to it")
  func progress() {
    var work = Work()
    func progress(_ bytes: Int64) -> Work.Item {
      .event(.progress(DownloadProgress(received: bytes, durable: 0, total: nil, bytesPerSecond: 0, connections: 1)))
    }
    for item in [.event(.began), progress(1), .event(.paused), progress(2), .event(.cancelled)] {
      work.add(item, of: .job(JobID(1)))
    }
    var done: [Work.Item] = []
    while let item = work.takeFirst(of: .job(JobID(1))) { done.append(item) }
    #expect(done == [.event(.began), .event(.paused), progress(2), .event(.cancelled)])
  }

  @Test("it is news once that the journal can't be read, and once that it can be")
  func news() {
    var work = Work()
    work.add(.ending, of: Self.download("x"))
    let reports = (work.failed(), work.failed())
    #expect(reports == (true, false))
    var round = work.takeRound()
    let item = work.takeFirst(of: round[0])
    work.putBack(item ?? .release, of: round[0])
    let early = work.endRound(left: [], hasDone: false)
    #expect(!early && work.isWaiting(Self.download("x")))
    round = work.takeRound()
    while work.takeFirst(of: round[0]) != nil {}
    let ended = work.endRound(left: [], hasDone: true)
    let again = work.endRound(left: [], hasDone: false)
    #expect(ended && !again && work.isEmpty)
    let later = work.failed()
    #expect(later, "the next time is news again")
  }

  @Test("the longer nothing can be done, the longer a round is waited for, and a minute at most")
  func delays() {
    var work = Work()
    var delays: [Duration] = []
    for _ in 0..<9 {
      delays.append(work.delay)
      _ = work.endRound(left: [], hasDone: false)
    }
    #expect(delays == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    _ = work.endRound(left: [], hasDone: true)
    #expect(work.delay == .seconds(1))
  }

  /// Against a list of what was told and not done.
  @Test("nothing is lost, done twice or overtaken, whatever fails", arguments: 0..<50 as Range<UInt64>)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var work = Work()
    var told: [Work.Subject: [Work.Item]] = [:]
    for number in 0..<100 {
      for _ in 0..<random.below(5) {
        let subject = Self.download("\(random.below(4))")
        let item = Work.Item.action(.cancelTransfer(app: "\(number)", download: "\(random.below(1000))"))
        if told[subject]?.contains(item) == true { continue }
        told[subject, default: []].append(item)
        work.add(item, of: subject)
      }
      let round = work.takeRound()
      #expect(Set(round) == Set(told.keys))
      let tried = random.below(round.count + 1)
      var hasDone = false
      for subject in round.prefix(tried) {
        while let item = work.takeFirst(of: subject) {
          #expect(item == told[subject]?.first)
          if random.chance(3) {
            work.putBack(item, of: subject)
            break
          }
          hasDone = true
          told[subject]?.removeFirst()
        }
        if told[subject]?.isEmpty == true { told[subject] = nil }
      }
      _ = work.endRound(left: round.dropFirst(tried), hasDone: hasDone)
      for name in 0..<4 {
        #expect(work.isWaiting(Self.download("\(name)")) == (told[Self.download("\(name)")] != nil))
      }
    }
  }
}
