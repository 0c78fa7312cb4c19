internal import AssetModel
internal import Basics
internal import HeapModule
internal import LinuxSystem

/// What all parts of the engine share, and its loop: messages and deadlines in, slots and waits out. Slow work (files,
/// hashes, the journal) goes to lanes and comes back through the mailbox. Network thread only.
///
/// Decisions are values (`Policies`, `JobMachine`); the parts carry them out: `JobOpening`, `JobEndings` and `JobPublishing`
/// for a job, `Connections`, `ChunkedTransfers` and `BodyReceiver` for its transfers, `RoomKeeper`, `CommandExecutor`,
/// `Additions`, `NetworkWatch` and `Explainer` for what comes from outside.
final class TransferEngine: EnginePart {
  let services: EngineServices
  private(set) lazy var parts = EngineParts(self)
  private(set) lazy var router = MessageRouter(engine: self)
  var engine: TransferEngine { self }
  var options: EngineOptions
  var scheduler = Scheduler()
  var active: [JobID: ActiveJob] = [:]
  var holds: [JobID: Hold] = [:]
  private var due = Heap<Due>()
  var origins = OriginRegistry()
  var apps = NameTable()
  var random: SeededGenerator
  var isClosing = false
  /// What the journal or the disk has in hand besides: the engine isn't closed before each came back.
  var outstanding = 0
  var lastSchedule: Duration = .zero
  var needsSchedule = true
  /// Who waits for the end.
  var whenClosed: [EngineReply<Void>] = []
  var lastNumber: UInt64 = 0

  init(
    options: EngineOptions, clock: any TransferClock, files: any FileOperations, journal: any DownloadJournal,
    transport: any Transport, mailbox: Mailbox, events: EventHub
  ) {
    self.options = options
    let journal = JournalWriter(journal)
    let publisher = Publisher(
      journal: journal, mode: options.fileMode, stagingOwner: options.stagingOwner, mayReplace: options.mayReplace,
      names: options.names)
    services = EngineServices(
      clock: clock, files: files, journal: journal, publisher: publisher, transport: transport, mailbox: mailbox,
      events: events)
    random = SeededGenerator(seed: options.seed ?? .random(in: .min ... .max))
    transport.client = parts.connections
  }

  /// A wait of a job may be over then. `serial`: the wait's.
  func setDue(_ job: JobID, at moment: Duration, _ serial: UInt64) {
    due.insert(Due(until: moment, job: job, serial: serial))
  }

  /// Numbers that tell runs, transfers and waits apart.
  func number() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Runs until the engine was closed and everything is safe.
  func run() {
    while true {
      parts.bodies.followWritesInPlace()
      for message in mailbox.take() { router.handle(message) }
      let now = clock.boot
      // After the time was read: what was under way isn't measured by time that was slept through.
      parts.network.noticeSleep()
      releaseDue(now)
      parts.connections.enforceDeadlines(now)
      parts.bodies.resumePaced(now)
      parts.connections.yieldLink(now)
      if origins.isCrowded { forgetOrigins() }
      if needsSchedule { schedule(now) }
      parts.records.ask()
      // Nothing else comes soon that the last ones could wait for.
      if active.isEmpty { events.flush() } else { events.flushIfDue() }
      if isClosing, isIdle { return }
      if isIdle, let deadline = nextDeadline() { clock.idles(until: deadline) }
      transport.poll { timeLeft() }
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
  private var isIdle: Bool {
    active.isEmpty && outstanding == 0 && parts.commands.changes.isEmpty && !parts.commands.isTryingJournal
      && parts.records.reads.isIdle
  }

  /// Until the loop has something to do that no message tells of.
  private func timeLeft() -> Duration {
    if needsSchedule || parts.bodies.writtenInPlace != nil { return .zero }
    let untilDeadline = nextDeadline().map { max(.zero, $0 - clock.boot) } ?? .seconds(60)
    return min(untilDeadline, events.timeLeft ?? untilDeadline)
  }

  private func nextDeadline() -> Duration? {
    var earliest = due.min?.until
    func consider(_ moment: Duration?) {
      if let moment, earliest.map({ moment < $0 }) ?? true { earliest = moment }
    }
    for segment in parts.connections.segments.values {
      consider(segment.link.headDeadline)
      if segment.link.headDeadline == nil, segment.writer?.isPaused == false, !segment.isWaitingForAllowance {
        consider(segment.stall.nextCheck)
      }
    }
    for (_, until) in parts.bodies.paced.values { consider(until) }
    for moment in origins.openings { consider(moment) }
    consider(parts.network.portalCheckAt)
    consider(parts.commands.deferred.retryAt)
    consider(parts.commands.connectivityDeadline)
    consider(parts.network.conditions.windowOpensAt.flatMap { $0 > clock.boot ? $0 : nil })
    // Turns end by time too, and segments are added by measurement.
    if !active.isEmpty {
      consider(lastSchedule + (!parts.chunked.segmented.isEmpty ? SegmentGrowth.window : .seconds(5)))
    }
    return earliest
  }

  private func releaseDue(_ now: Duration) {
    while let first = due.min, first.until <= now {
      due.removeMin()
      guard let hold = holds[first.job], hold.serial == first.serial, !parts.network.stillWaitsForClock(hold, now),
        !parts.commands.stillWaitsForJournal(hold)
      else { continue }
      release(first.job)
    }
    parts.commands.performDeferred(now)
    if now - lastSchedule >= SegmentGrowth.window, !active.isEmpty { needsSchedule = true }
    if origins.expire(now) { needsSchedule = true }
    for origin in origins.takeRestored() { scheduler.restore(origin) }
    parts.network.checkPortal(now)
    if let end = parts.commands.connectivityDeadline, end <= now { needsSchedule = true }
    if let opening = parts.network.conditions.windowOpensAt, opening <= now {
      parts.network.conditions.windowOpensAt = nil
      needsSchedule = true
    }
  }
}
