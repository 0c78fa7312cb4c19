import AssetModel
import LinuxSystem
import Testing

@testable import Downloads

/// What a command means for a job without an activation.
@Suite(.timeLimit(.minutes(1))) struct IdleJobTests {
  private static let now = StoredMoment(bootIdentifier: "boot", boot: 100_000_000_000, wall: 0)
  private static let failure = TransferFailure(.refused, detail: "no")
  private static let states: [JobState] = [.open, .paused, .verified, .finished, .failed(failure), .cancelled]

  private static func record(_ state: JobState, hasPartial: Bool = false) -> JobRecord {
    var record = JobRecord(
      id: JobID(1),
      specification: DownloadSpecification(
        app: "app", identifier: "a", url: "https://a.test/", transferClass: .background, directory: "/tmp",
        fileName: "a"), enqueued: now)
    record.state = state
    if hasPartial {
      record.partial = Partial(
        stagingName: "x", entity: Entity(finalURL: ""), bootIdentifier: "boot", device: 1, inode: 1)
    }
    return record
  }

  private static func step(_ command: JobCommand, _ record: JobRecord, hold: Hold? = nil, update: PendingUpdate? = nil)
    -> IdleJob.Step
  {
    IdleJob(record: record, hold: hold, update: update).step(for: command, now: now, boot: .seconds(100))
  }

  private static func hold(_ reason: Hold.Reason, since: Duration = .seconds(90)) -> Hold {
    Hold(
      entry: Scheduler.Entry(
        id: JobID(1), app: 1, origin: 1, transferClass: .background, priority: 0, remaining: nil, since: .zero),
      reason: reason, facts: Hold.Facts(), since: since, until: .seconds(200), serial: 1)
  }

  private static func updated(
    _ record: JobRecord, to state: JobState, _ disposition: Disposition, _ change: (inout JobRecord) -> Void = { _ in }
  ) -> IdleJob.Step {
    var record = record
    record.state = state
    change(&record)
    return .change(.update(PendingUpdate(record: record, disposition: disposition), removesFiles: false))
  }

  @Test("each state answers each command as it should", arguments: states)
  func table(state: JobState) {
    let record = Self.record(state)
    switch state {
    case .open, .paused:
      #expect(Self.step(.pause, record) == (state == .open ? Self.updated(record, to: .paused, .paused) : .nothing))
      #expect(Self.step(.resume, record) == Self.updated(record, to: .open, .queued(reportsBlock: true)))
      #expect(Self.step(.cancel, record) == .change(.cancellation(of: record)))
      #expect(
        Self.step(.setClass(.foreground), record)
          == Self.updated(record, to: state, .reclassified(isUrgent: true, hold: nil, until: nil)) {
            $0.transferClass = .foreground
          })
    case .verified:
      #expect(Self.step(.pause, record) == .nothing && Self.step(.setClass(.foreground), record) == .nothing)
      #expect(Self.step(.resume, record) == .enqueue)
      #expect(Self.step(.cancel, record) == .change(.cancelUnlessNamed(record)))
    case .finished, .failed, .cancelled:
      for command: JobCommand in [.pause, .resume, .cancel, .setClass(.foreground)] {
        #expect(Self.step(command, record) == .nothing, "\(command)")
      }
    }
    #expect(Self.step(.setClass(.background), record) == .nothing, "it has that class")
  }

  @Test("of a download that ended, cancelling removes what there is of it, where there is something")
  func leftover() {
    let refused = TransferFailure(.challenge, status: 403, detail: "no")
    for state in Self.states.filter(\.isTerminal) + [.failed(refused)] {
      for hasPartial in [false, true] {
        let step = Self.step(.cancel, Self.record(state, hasPartial: hasPartial))
        #expect(step == (state == .failed(refused) && hasPartial ? .removeLeftover : .nothing), "\(state)")
      }
    }
  }

  @Test("what a job waited isn't counted against it when it goes on")
  func forgiven() {
    let record = Self.record(.paused)
    guard case .change(.update(let update, _)) = Self.step(.resume, record, hold: Self.hold(.paused("user"))) else {
      Issue.record("not resumed")
      return
    }
    var expected = record
    expected.forgiveWaiting(10_000_000_000, now: Self.now)
    #expect(update.record.lastProgress == expected.lastProgress)
  }

  @Test("a job of another class goes on waiting for what it waits for, but not for the journal")
  func reclassified() {
    let record = Self.record(.open)
    for reason in [
      Hold.Reason.retry("x"),
      .disk(
        SpaceShortage(
          directory: "/", device: 1, need: 1, free: 0, floor: 0, purgeUntil: 0)), .journal("x", isOfVolume: false),
    ] {
      let step = Self.step(.setClass(.prefetch), record, hold: Self.hold(reason))
      let kept = reason.isOfJournal ? nil : reason
      #expect(
        step
          == Self.updated(
            record, to: .open,
            .reclassified(isUrgent: false, hold: kept, until: kept == nil ? nil : .seconds(200))
          ) { $0.transferClass = .prefetch }, "\(reason)")
    }
  }

  @Test("what was decided before and isn't written yet still follows")
  func updateFirst() {
    let record = Self.record(.paused)
    let update = PendingUpdate(record: record, disposition: .paused)
    #expect(
      Self.step(.setClass(.prefetch), record, update: update)
        == Self.updated(record, to: .paused, .paused) { $0.transferClass = .prefetch })
  }

  @Test("another specification replaces an open job, and is added beside one that is over or only lacks its name")
  func superseded() {
    for state in Self.states {
      for isSame in [false, true] {
        var record = Self.record(state, hasPartial: true)
        record.specification.digest = ContentDigest(.sha256, bytes: [UInt8](repeating: 1, count: 32))
        var specification = record.specification
        specification.url = "https://b.test/"
        if !isSame { specification.digest = nil }
        let supersession = Supersession(specification: specification, request: 1)
        let expected: IdleJob.Step =
          state == .open || state == .paused
          ? .change(
            .supersede(
              JobChanges.Replacement(
                record: record, supersession: supersession,
                inherited: isSame ? Self.moved(record.partial, specification) : nil)))
          : .add(supersession)
        #expect(Self.step(.supersede(supersession), record) == expected, "\(state)")
      }
    }
  }
  /// Without the validators of the old address.
  private static func moved(_ partial: Partial?, _ specification: DownloadSpecification) -> Partial? {
    guard var partial else { return nil }
    partial.entity = Entity(
      total: partial.entity.total, coding: partial.entity.coding, finalURL: specification.url)
    return partial
  }

  @Test(
    "another signature or token at the same place goes on with what a strong entity tag tells apart, and nothing else does",
    arguments: [
      ("https://a.test/f?sig=2", "\"1\"", true), ("https://a.test/f", "\"1\"", true),
      ("https://a.test/g", "\"1\"", false),
      ("https://b.test/f", "\"1\"", false), ("https://a.test/f?sig=2", nil, false),
    ] as [(String, String?, Bool)])
  func samePlace(url: String, tag: String?, goesOn: Bool) {
    var record = Self.record(.open, hasPartial: true)
    record.specification.url = "https://a.test/f?sig=1"
    record.partial?.entity = Entity(strongTag: tag, total: 9, finalURL: record.specification.url)
    var specification = record.specification
    specification.url = url
    specification.headers = [.init(name: "Authorization", value: "Bearer 2")]
    for isRenewed in [true, false] {
      let supersession = Supersession(specification: specification, request: 1, isRenewed: isRenewed)
      let replacement = JobChanges.Replacement(
        record: record, supersession: supersession, inherited: goesOn && isRenewed ? record.partial : nil)
      #expect(Self.step(.supersede(supersession), record) == .change(.supersede(replacement)))
    }
  }
}
