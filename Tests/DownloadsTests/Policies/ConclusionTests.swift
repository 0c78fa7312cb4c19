import AssetModel
import LinuxSystem
import Testing

@testable import Downloads

/// What a step comes to when everything that a job received is safe.
@Suite(.timeLimit(.minutes(1))) struct ConclusionTests {
  private static let shortage = SpaceShortage(
    directory: "/d", device: 1, need: 10, free: 1, floor: 2, purgeUntil: 3)

  private static func record(_ state: JobState = .open, hasPartial: Bool = true, budget: String? = nil) -> JobRecord {
    var specification = DownloadSpecification(
      app: "app", identifier: "a", url: "https://a.test/", transferClass: .background, directory: "/tmp", fileName: "a")
    specification.budget = budget
    var record = JobRecord(
      id: JobID(1), specification: specification, enqueued: StoredMoment(bootIdentifier: "boot", boot: 0, wall: 0))
    record.state = state
    if hasPartial {
      record.partial = Partial(
        stagingName: "x", entity: Entity(finalURL: ""), bootIdentifier: "boot", device: 1, inode: 1)
    }
    return record
  }

  private static func conclude(
    _ step: NextStep, _ record: JobRecord = record(), _ facts: Conclusion.Facts = Conclusion.Facts()
  ) -> (Conclusion, JobRecord) {
    var record = record
    let conclusion = Conclusion(of: step, &record, facts)
    return (conclusion, record)
  }

  @Test("a pause, a turn that is over and a cancellation end the activation, and only the last removes files")
  func ends() {
    let (paused, pausedRecord) = Self.conclude(.pause)
    #expect(paused == .retire(Retirement(.paused)) && pausedRecord.state == .paused)
    let (yielded, yieldedRecord) = Self.conclude(.yield)
    #expect(yielded == .retire(Retirement(.queued(reportsBlock: true))) && yieldedRecord == Self.record())
    let (cancelled, cancelledRecord) = Self.conclude(.cancel)
    #expect(cancelled == .retire(Retirement(.cancelled, removing: .everything)) && cancelledRecord.state == .cancelled)
  }

  @Test("what goes on changes nothing in the record")
  func goesOn() {
    let failure = TransferFailure(.refused, detail: "no")
    for (step, expected): (NextStep, Conclusion) in [
      (.verify, .verify),
      (.retry(.truncated, retryAfter: .seconds(3)), .failedAttempt(.truncated, retryAfter: .seconds(3))),
      (.fail(failure), .failed(failure)), (.startAfresh("x"), .startAfresh(reason: "x")), (.askOtherwise("x"), .ask),
    ] {
      let (conclusion, record) = Self.conclude(step)
      #expect(conclusion == expected && record == Self.record(), "\(step)")
    }
  }

  @Test("asking in another way has an end")
  func otherwise() {
    for restarts in 0...8 {
      let (conclusion, _) = Self.conclude(.askOtherwise("x"), Self.record(), Conclusion.Facts(restarts: restarts))
      let expected: Conclusion =
        restarts <= Conclusion.maxRestarts ? .ask : .failedAttempt(.protocolFault("x"), retryAfter: nil)
      #expect(conclusion == expected, "\(restarts)")
    }
  }

  @Test("a full volume gets back what no later attempt could go on with, and nothing else")
  func fullVolume() {
    for state in [JobState.open, .verified] {
      for durable: Int64 in [0, 5] {
        for hasPartial in [false, true] {
          for hasFile in [false, true] {
            let record = Self.record(state, hasPartial: hasPartial)
            let facts = Conclusion.Facts(durableBytes: durable, hasFile: hasFile)
            let (conclusion, after) = Self.conclude(.hold(.disk(Self.shortage), after: nil), record, facts)
            let isWorthless = state == .open && durable == 0 && hasPartial && hasFile
            #expect(
              conclusion == .retire(Retirement(.outOfSpace(Self.shortage), removing: isWorthless ? .partial : .nothing))
            )
            #expect((after.partial == nil) == (isWorthless || !hasPartial))
            #expect(after.lastError == "\(Self.shortage)")
          }
        }
      }
    }
  }

  @Test("a hold says in the record why, and ends by itself where it has a time")
  func holds() {
    for (delay, end): (Duration?, Disposition.End) in [(nil, .never), (.seconds(30), .after(.seconds(30)))] {
      let (conclusion, record) = Self.conclude(.hold(.volume(5), after: delay))
      #expect(conclusion == .retire(Retirement(.held(.volume(5), end))))
      #expect(record.lastError == Hold.Reason.volume(5).text)
    }
  }

  @Test("closing tells the journal what it doesn't know, and else nothing")
  func closing() {
    #expect(Self.conclude(.close).0 == .leave)
    #expect(Self.conclude(.close, Self.record(budget: "b")).0 == .retire(Retirement(.left)))
    var later = Self.record()
    later.generation = 2
    #expect(Self.conclude(.close, later).0 == .retire(Retirement(.left)))
    #expect(Self.conclude(.close, later, Conclusion.Facts(firstGeneration: 2)).0 == .leave)
  }
}
