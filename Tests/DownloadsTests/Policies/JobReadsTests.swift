import AssetModel
import Basics
import Testing

@testable import Downloads

/// What the journal is asked of jobs that aren't running.
@Suite(.timeLimit(.minutes(2))) struct JobReadsTests {
  private static func record(_ id: JobID) -> JobRecord {
    JobRecord(
      id: id,
      specification: DownloadSpecification(
        app: "app", identifier: "\(id)", url: "https://a.test/", transferClass: .background, directory: "/tmp",
        fileName: "a"),
      enqueued: StoredMoment(bootIdentifier: "boot", boot: 0, wall: 0))
  }

  private static func entry(_ id: JobID) -> Scheduler.Entry {
    Scheduler.Entry(
      id: id, app: 1, origin: 1, transferClass: .background, priority: 0, remaining: nil, since: .zero)
  }

  @Test("what is known starts at once, and what isn't when it was read")
  func starts() {
    var reads = JobReads()
    reads.know(Self.record(JobID(1)))
    #expect(reads.start(Self.entry(JobID(1)))?.id == JobID(1))
    #expect(reads.start(Self.entry(JobID(1))) == nil && reads.start(Self.entry(JobID(2))) == nil)
    #expect(reads.takeWanted() == [JobID(1), JobID(2)])
    // One question at a time.
    _ = reads.start(Self.entry(JobID(3)))
    #expect(reads.takeWanted().isEmpty)
    #expect(reads.answered([JobID(1), JobID(2)]).map(\.id) == [JobID(1), JobID(2)])
    #expect(reads.takeWanted() == [JobID(3)])
  }

  @Test("what was asked for before a job had its slot comes first")
  func commandsFirst() {
    var reads = JobReads()
    reads.know(Self.record(JobID(1)))
    reads.perform(.pause, on: JobID(1))
    #expect(reads.start(Self.entry(JobID(1))) == nil)
    let needs = reads.takeWanted()
    let answers = reads.answered(needs)
    #expect(answers.map(\.need.commands.commands) == [[.pause]] && answers[0].need.start != nil)
  }

  @Test("a job that changed doesn't start by what was known of it")
  func forgets() {
    var reads = JobReads()
    reads.know(Self.record(JobID(1)))
    reads.forget(JobID(1))
    #expect(reads.start(Self.entry(JobID(1))) == nil)
    reads.fail(JobID(1), withoutNetworkSince: .zero)
    reads.forget(JobID(1))
    let answers = reads.answered(reads.takeWanted())
    #expect(answers[0].need.start == nil && answers[0].need.withoutNetwork == nil)
  }

  @Test("what starts unread has others read with it, once for each question")
  func readsAhead() {
    var reads = JobReads()
    _ = reads.start(Self.entry(JobID(1)))
    #expect(reads.wantsMore(of: 100))
    reads.readAhead([JobID(2), JobID(3)])
    #expect(!reads.wantsMore(of: 100))
    #expect(reads.takeWanted() == [JobID(1), JobID(2), JobID(3)] && !reads.wantsMore(of: 100))
    _ = reads.answered([JobID(1), JobID(2), JobID(3)])
    for id in 2...3 { reads.know(Self.record(JobID(Int64(id)))) }
    // All that wait are known.
    #expect(!reads.wantsMore(of: 2) && reads.wantsMore(of: 3))
  }

  @Test("what is known of jobs that come late doesn't keep the next ones from being read")
  func makesRoom() {
    var reads = JobReads()
    for id in 1...JobReads.maxKnown { reads.know(Self.record(JobID(Int64(10_000 + id)))) }
    #expect(!reads.wantsMore(of: 5000))
    #expect(reads.start(Self.entry(JobID(1))) == nil)
    #expect(reads.wantsMore(of: 5000, isMissing: true) && !reads.wantsMore(of: 0, isMissing: true))
    let next = (2...JobReads.ahead).map { JobID(Int64($0)) } + [JobID(10_001)]
    reads.readAhead(next)
    #expect(reads.takeWanted() == [JobID(1)] + next.dropLast())
    // Of what was known only what comes next is left.
    #expect(Array(reads.known.keys) == [JobID(10_001)])
    // One question at a time.
    #expect(!reads.wantsMore(of: 5000, isMissing: true))
  }

  @Test("every need is answered once, in order, and what is kept is bounded", arguments: 0..<50)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var reads = JobReads()
    var asked: [JobID] = []
    var commands: [JobID: CommandQueue] = [:]
    var started: Set<JobID> = []
    for step in 0..<400 {
      let id = JobID(Int64.random(in: 1...1200, using: &random))
      switch Int.random(in: 0..<7, using: &random) {
      case 0: reads.know(Self.record(id))
      case 1:
        let command: JobCommand = [.pause, .resume, .cancel].randomElement(using: &random) ?? .pause
        reads.perform(command, on: id)
        commands[id, default: CommandQueue()].append(command)
      case 2: if reads.start(Self.entry(id)) == nil { started.insert(id) }
      case 3:
        reads.forget(id)
        started.remove(id)
        #expect(reads.known[id] == nil)
      case 4: reads.readAhead((0..<200).map { _ in JobID(Int64.random(in: 1...1200, using: &random)) })
      case 5 where asked.isEmpty: asked = reads.takeWanted()
      default:
        let needs = reads.answered(asked)
        #expect(needs.map(\.id) == asked, "step \(step)")
        for (id, need) in needs {
          #expect(need.commands == commands.removeValue(forKey: id) ?? CommandQueue(), "step \(step)")
          #expect((need.start != nil) == (started.remove(id) != nil), "step \(step)")
          #expect(!reads.isReading(id))
        }
        asked = []
      }
      #expect(reads.known.count <= JobReads.maxKnown && asked.count <= JobReads.maxAtOnce)
    }
    // Nothing is left behind.
    if !asked.isEmpty { _ = reads.answered(asked) }
    while case let ids = reads.takeWanted(), !ids.isEmpty {
      for (id, _) in reads.answered(ids) { commands[id] = nil }
    }
    #expect(reads.isIdle)
  }
}
