internal import AssetModel
internal import Basics
internal import Dispatch
internal import LinuxSystem
internal import Logging

/// Everything that the engine knows, on the network thread: decisions are made here and nowhere else. Slow work (files,
/// hashes, the journal) goes to lanes and comes back through the mailbox.
final class EngineCore {
  var options: EngineOptions
  let clock: any TransferClock
  let files: any FileOperations
  let journal: JournalWriter
  let publisher: Publisher
  let transport: any Transport
  let mailbox: Mailbox
  let events: EventHub
  let pool = BufferPool()
  let lanes = JobFile.Lanes()

  var scheduler = Scheduler()
  var active: [JobID: ActiveJob] = [:]
  /// Those of them that have a chunk list, and so may have several connections.
  var segmented: [JobID: ActiveJob] = [:]
  var destinations: [DestinationKey: WeakDestination] = [:]
  var segments: [TransferID: Segment] = [:]
  var holds: [JobID: Hold] = [:]
  /// Jobs that were just added, as the journal has them: the first of them needn't be read again.
  var added: [JobID: JobRecord] = [:]
  var due = Heap<(until: Duration, job: JobID, serial: UInt64)> { $0.until < $1.until }
  var origins = OriginRegistry()
  var apps = NameTable()
  var conditions = MachineConditions()
  var space: SpaceLedger
  var buckets: RateBuckets
  /// It wrote without its lane; what follows of that waits until the transport has returned.
  var writtenInPlace: ActiveJob?
  /// Since the transport was called: how much was written so, and how long that took.
  var inPlace: (bytes: Int64, time: Duration) = (0, .zero)
  /// Transfers that wait for their share of the rate.
  var paced: [TransferID: Duration] = [:]
  var random: SeededGenerator
  /// How long the machine had slept when that was last looked at.
  var lastSlept: Duration
  /// When a portal that was found is looked for again.
  var portalCheckAt: Duration?
  /// Jobs that aren't running of which the journal is just told something, with what was asked for since.
  var committing: [JobID: CommandQueue] = [:]
  var pendingUpdates: [JobID: PendingUpdate] = [:]
  var deferred = DeferredCommands()
  /// A commit that tries the journal for those that wait for it is on its way.
  var isTryingJournal = false
  /// Boot time since which there is no network, and at which a download has waited for one long enough.
  var offlineSince: Duration?
  var patienceEndsAt: Duration?
  var proxyHealth = ProxyHealth()
  var isClosing = false
  /// What the journal or the disk has in hand besides: the engine isn't closed before each came back.
  var outstanding = 0
  var lastSchedule: Duration = .zero
  var needsSchedule = true
  var nextYield: Duration = .zero
  var whenClosed: [@Sendable () -> Void] = []
  /// Who waits for what comes of an update, by its number.
  var replies: [UInt64: @Sendable (Result<AddResult, any Error>) -> Void] = [:]
  private var lastNumber: UInt64 = 0

  init(
    options: EngineOptions, clock: any TransferClock, files: any FileOperations, journal: any DownloadJournal,
    transport: any Transport, mailbox: Mailbox, events: EventHub
  ) {
    self.options = options
    conditions = options.conditions
    self.clock = clock
    self.files = files
    self.journal = JournalWriter(journal)
    publisher = Publisher(
      journal: self.journal, mode: options.fileMode, stagingOwner: options.stagingOwner, mayReplace: options.mayReplace)
    self.transport = transport
    self.mailbox = mailbox
    self.events = events
    buckets = RateBuckets(options)
    space = SpaceLedger(policy: options.freeSpace)
    lastSlept = clock.slept
    random = SeededGenerator(seed: options.seed ?? .random(in: .min ... .max))
    transport.client = self
  }

  static let maxAdded = 512

  /// Numbers that tell runs, transfers and waits apart.
  func number() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  // MARK: The loop

  /// Runs until the engine was closed and everything is safe.
  func run() {
    while true {
      events.gather()
      followWritesInPlace()
      for message in mailbox.take() { message(self) }
      let now = clock.boot
      // After the time was read: what was under way isn't measured by time that was slept through.
      noticeSleep()
      releaseDue(now)
      enforceDeadlines(now)
      resumePaced(now)
      yieldLink(now)
      if origins.isCrowded { forgetOrigins() }
      if needsSchedule { schedule(now) }
      events.flush()
      if isClosing, isIdle { return }
      if isIdle, let deadline = nextDeadline() { clock.idles(until: deadline) }
      transport.poll { needsSchedule || writtenInPlace != nil ? .zero : timeLeft() }
    }
  }

  private func forgetOrigins() {
    var used = scheduler.origins
    for hold in holds.values { used.insert(hold.entry.origin) }
    for job in active.values {
      used.insert(job.origin)
      if let origin = job.failedAt { used.insert(origin) }
      if let origin = job.sources.failure?.origin { used.insert(origin) }
    }
    origins.forget(except: used)
  }

  /// Nothing is under way, on any lane.
  private var isIdle: Bool { active.isEmpty && outstanding == 0 && committing.isEmpty && !isTryingJournal }

  private func timeLeft() -> Duration { nextDeadline().map { max(.zero, $0 - clock.boot) } ?? .seconds(60) }

  private func nextDeadline() -> Duration? {
    var earliest = due.first?.until
    func consider(_ moment: Duration?) {
      if let moment, earliest.map({ moment < $0 }) ?? true { earliest = moment }
    }
    for segment in segments.values {
      consider(segment.link.headDeadline)
      if segment.link.headDeadline == nil, segment.writer?.isPaused == false, !segment.isWaitingForAllowance {
        consider(segment.stall.nextCheck)
      }
    }
    for moment in paced.values { consider(moment) }
    for moment in origins.openings { consider(moment) }
    consider(portalCheckAt)
    consider(deferred.retryAt)
    consider(patienceEndsAt)
    consider(conditions.windowOpensAt.flatMap { $0 > clock.boot ? $0 : nil })
    // Turns end by time too, and segments are added by measurement.
    if !active.isEmpty {
      consider(lastSchedule + (!segmented.isEmpty ? SegmentGrowth.window : .seconds(5)))
    }
    return earliest
  }

  private func releaseDue(_ now: Duration) {
    while let first = due.first, first.until <= now {
      due.pop()
      guard let hold = holds[first.job], hold.serial == first.serial, !stillWaitsForClock(hold, now),
        !stillWaitsForJournal(hold)
      else { continue }
      release(first.job)
    }
    performDeferred(now)
    if now - lastSchedule >= SegmentGrowth.window, !active.isEmpty { needsSchedule = true }
    if origins.expire(now) { needsSchedule = true }
    for origin in origins.takeCalmed() { scheduler.restore(origin) }
    checkPortal(now)
    if let end = patienceEndsAt, end <= now { needsSchedule = true }
    if let opening = conditions.windowOpensAt, opening <= now {
      conditions.windowOpensAt = nil
      needsSchedule = true
    }
  }

  /// Ends a hold: the job may be scheduled again.
  func release(_ id: JobID) {
    guard var hold = holds.removeValue(forKey: id) else { return }
    if let update = pendingUpdates[id] { return take(update.record, update.record.state, update.disposition) }
    if !hold.reason.isPartOfTrying { hold.entry.idle += max(.zero, clock.boot - hold.since) }
    scheduler.enqueue(hold.entry, now: clock.boot)
    needsSchedule = true
  }

  func hold(_ entry: Scheduler.Entry, _ reason: Hold.Reason, until: Duration?) {
    keepWaiting(entry, reason, until: until)
    tellWhyHeld(entry.id)
  }

  /// As `hold`, and nobody is told.
  func keepWaiting(_ entry: Scheduler.Entry, _ reason: Hold.Reason, until: Duration?) {
    let serial = number()
    holds[entry.id] = Hold(entry: entry, reason: reason, since: clock.boot, until: until, serial: serial)
    if let until { due.push((until, entry.id, serial)) }
  }

  func tellWhyHeld(_ id: JobID) { if let explanation = explain(id) { events.send(.waiting(id, explanation)) } }

  private func enforceDeadlines(_ now: Duration) {
    for segment in Array(segments.values) {
      if let deadline = segment.link.headDeadline, now >= deadline {
        giveUp(segment)
      } else if segment.link.headDeadline == nil, segment.writer != nil, segment.stall.isStalled(at: now) {
        fail(segment, .stalled)
      }
    }
  }

  /// Drops a transfer and treats its job as one whose attempt failed.
  func fail(_ segment: Segment, _ problem: TransferProblem) {
    guard let job = active[segment.job] else { return }
    if segment.link.isConnected { distrustHTTP2(segment) }
    drop(segment)
    attemptFailed(job, segment, problem, retryAfter: nil)
  }

  func drop(_ segment: Segment) {
    let received = transport.cancel(segment.transfer)
    // Its head, and bodies that nobody wanted; what was wanted is charged as it goes to the file.
    if let job = active[segment.job], received > segment.received {
      // Never beyond what was reserved: it is given up because there is no more.
      let besides = job.allowance.atMost(received - segment.received)
      charge(job, besides)
      job.allowance.charge(besides)
    }
    segments[segment.transfer] = nil
    paced[segment.transfer] = nil
  }

  // MARK: Scheduling

  func schedule(_ now: Duration) {
    needsSchedule = false
    lastSchedule = now
    guard !isClosing else { return }
    failWithoutNetwork(now)
    while let decision = scheduler.next(
      now: now, isClassBlocked: { conditions.gate(for: $0, now: now) != nil },
      isOriginBlocked: { origin, _ in origins[origin].isBlocked(now: now) })
    {
      switch decision {
      case .start(let entry): start(entry, now)
      case .yield(let id):
        if let job = active[id], job.phase == .transferring || job.phase == .opening, goesOnAfterYielding(job) {
          settle(job, .yield)
        } else {
          // It is about to give its slot back, or looks at what it has, which may take long, or would begin again: others
          // make room.
          scheduler.keepsSlot(id)
        }
      }
    }
    for job in segmented.values {
      considerSegment(job, now)
      relieveSlowest(job, now)
    }
  }

  /// Whether what it has isn't lost when it makes room: nobody would ever finish what takes longer than a turn.
  private func goesOnAfterYielding(_ job: ActiveJob) -> Bool {
    job.file.written.offset == 0 || job.record.specification.hasRanges && !origins[job.origin].isRangeless
  }

  private func start(_ entry: Scheduler.Entry, _ now: Duration) {
    var entry = entry
    entry.idle += max(.zero, now - entry.enqueuedAt)
    if deferred.contains(entry.id) {
      scheduler.remove(entry.id)
      return hold(entry, deferred.reason ?? .journal("", isOfVolume: false), until: now + Self.journalDelay)
    }
    var record: JobRecord
    do {
      if added[entry.id] == nil { try readAhead(of: entry) }
      guard let found = added.removeValue(forKey: entry.id), !found.state.isSettled else {
        scheduler.remove(entry.id)
        return
      }
      record = found
    } catch {
      scheduler.remove(entry.id)
      holdForJournal(entry, error)
      return
    }
    if let standing = space.standingHold(
      directory: record.specification.directory, rest: entry.rest, isBackground: record.transferClass.isBackground,
      now: now)
    {
      scheduler.remove(entry.id)
      return hold(entry, standing.reason, until: standing.until)
    }
    origins.started(entry.origin, job: entry.id, now: now)
    // It is over, also for whoever reads the journal next.
    record.wait = nil
    record.forgiveWaiting(entry.idle.inNanoseconds, now: clock.now)
    let job = ActiveJob(record, origin: entry.origin, run: number(), lanes: lanes, now: now)
    active[entry.id] = job
    open(job)
  }

  /// An entry for the queue, from a job's record.
  func entry(of record: JobRecord) -> Scheduler.Entry {
    let specification = record.specification
    let total = specification.exactSize ?? record.partial?.entity.total ?? specification.declaredSize
    return Scheduler.Entry(
      id: record.id, app: apps.number(of: specification.app),
      origin: queueOrigin(of: record),
      transferClass: record.transferClass, priority: specification.priority,
      rest: total.map { max(0, $0 - record.durableBytes) },
      since: Self.sinceBoot(record.enqueued, clock))
  }

  static func origin(of url: String) -> String { (try? ParsedURL(url))?.origin ?? "" }

  /// When a job was enqueued, on this boot's clock: negative for one of an earlier boot.
  static func sinceBoot(_ moment: StoredMoment, _ clock: any TransferClock) -> Duration {
    let now = clock.now
    // As it was written: those that came together are told apart by their numbers, not by when each was looked at.
    if moment.bootIdentifier == now.bootIdentifier { return .nanoseconds(min(moment.boot, now.boot)) }
    // Of an earlier boot only wall clocks tell, and those may be years off: it counts for a day at most.
    return .nanoseconds(now.boot) - .nanoseconds(min(moment.elapsed(until: now), 24 * 3_600_000_000_000))
  }

  /// Reads the jobs that probably start next together with this one. What waits doesn't change in the journal without
  /// leaving `added` first.
  private func readAhead(of entry: Scheduler.Entry) throws {
    let next = added.count < Self.maxAdded ? scheduler.upcoming(like: entry, atMost: 64) : []
    for record in try journal.journal.jobs([entry.id] + next.filter { added[$0] == nil }) { added[record.id] = record }
  }

  /// Its transfers are over, and the publisher takes as many as come: another job may transfer meanwhile.
  func releaseSlot(of job: ActiveJob) {
    origins.ended(job.origin, job: job.id)
    scheduler.remove(job.id)
    needsSchedule = true
  }

  /// Takes a job back from its slot, and tells the scheduler.
  func retire(_ job: ActiveJob) {
    for segment in job.segments { drop(segment) }
    job.segments = []
    active[job.id] = nil
    space.release(job.id)
    segmented[job.id] = nil
    origins.ended(job.origin, job: job.id)
    scheduler.remove(job.id)
    needsSchedule = true
    // The next run may open it, and no other process is kept from it.
    job.file.staging?.end()
  }
}
