internal import AssetModel
internal import AssetStore
internal import Dispatch
internal import Downloads
internal import Foundation
internal import LinuxSystem
internal import Synchronization

/// One `outrider fetch`: its jobs from the journal, the engine, and what people see of it.
final class FetchSession: Sendable {
  private let plan: FetchPlan
  private let store: AssetStore
  private let intake: FetchIntake
  private let engine: DownloadEngine
  private let view: FetchView
  private let naming: FetchNaming
  private let limit: Duration?
  private let ending: FetchEnding
  /// Heads are shown from a thread of their own: the network's mustn't wait for a terminal.
  private let heads = DispatchQueue(label: "outrider.heads")

  init(_ command: FetchCommand, _ plan: FetchPlan) throws {
    Memory.keepSmall(releasesCode: false)
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.longLife) { Memory.releaseUnused() }
    var plan = plan
    // What is wrong with the command is said before anything is made.
    let identity = try FetchIdentity(command, urls: plan.targets.map(\.url))
    var engineOptions = try FetchOptions.engine(command, identity, schemes: plan.schemes)
    var advice = identity?.advice ?? FetchAdvice()
    advice.hasProxyCredential = plan.schemes.allSatisfy {
      FetchOptions.hasCredential($0 == "http" ? engineOptions.transport.plainProxy : engineOptions.transport.proxy)
    }
    var options = AssetStore.Options()
    options.startFresh = command.place.startFresh
    // A user who types them, or lists them in a file, may have many.
    options.maxOpenJobsPerApp = 1_000_000
    options.readsBesideWrites = false
    try plan.makeDirectory()
    let opened = try FetchState.open(command.place.state, options)
    let view = FetchView(command.output, advice: advice, hidesResults: plan.isForOutput)
    (self.plan, self.view, store) = (plan, view, opened.store)
    limit = command.pace.limit
    // Two commands with journals of their own may fetch into one directory, and under one name.
    engineOptions.stagingOwner = (try? Files.real(opened.directory)) ?? opened.directory
    let versions = FetchVersions(plan.mode)
    engineOptions.mayReplace = versions.mayReplace
    if plan.mode == .ifChanged || plan.mode == .ownPlace { engineOptions.knownVersion = versions.known }
    let ending = FetchEnding()
    self.ending = ending
    let naming = FetchNaming(opened.store, versions, plan, asksServers: command.place.contentDisposition)
    engineOptions.fileNames = naming.choices
    if command.place.contentDisposition { engineOptions.toldServerName = { id, name in naming.received(name, of: id) } }
    self.naming = naming
    if command.output.verbose {
      engineOptions.transport.observesHeads = { [heads] head in heads.async { view.show(head) } }
    }
    Self.tell(opened, view)
    engine = try DownloadEngine(journal: store, options: engineOptions)
    intake = FetchIntake(
      plan: plan, store: store, engine: engine,
      siblings: FetchSiblings(directories: opened.siblings, turns: opened.turns, plan: plan),
      versions: versions, naming: naming, view: view, ending: ending)
  }

  /// Settled downloads that `explain` can still tell of.
  private static let keptDownloads = 10_000

  /// Seconds from which on it is worth the while to give memory back that starting took.
  private static let longLife = 2.0

  private static func tell(_ opened: FetchState.Opened, _ view: FetchView) {
    if let holder = opened.holder {
      view.say(
        "process \(holder.pid) has the state folder; this command's is \(opened.directory), and "
          + "'outrider explain ID --state \(opened.directory)' tells of its download of that number"
      )
    }
    let recovery = opened.store.recovery
    guard let damage = recovery.damage else { return }
    let place =
      if let made = recovery.backupMade {
        "its backup of \(Date(timeIntervalSince1970: Double(made) / 1e9).formatted(.iso8601)) took its place"
      } else { "an empty one took its place" }
    Output.note("the journal was damaged (\(damage)); a copy is at \(recovery.copy ?? "no place"), \(place)")
  }

  // MARK: The run

  func run() async throws -> Int32 {
    listen()
    // Not by a task: one that compares a file, or hands it over, may have the only thread of all tasks.
    if let limit {
      DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1)) { [self] in
        stop(75) { view.say("--max-time is over") }
      }
    }
    let events = engine.events
    let begun = try await intake.begin()
    let (open, published) = await follow(events, begun.open)
    await engine.close()
    heads.sync {}
    begun.staging?.end()
    let wall = SystemClock().wall
    // Everything was told here and now: nothing waits for a recipient. The same command finds all of it again.
    _ = try? store.retention.forgetSettled(
      app: FetchPlan.app, keeping: Self.keptDownloads, sparing: view.jobs,
      recording: published + view.waiting.compactMap { FetchHold.event($0, $1, at: wall) })
    if !store.isInPlace {
      Output.note(
        "the state folder was moved or removed while this ran: the next command doesn't know what this one has fetched")
    }
    try? store.close()
    let left = open.count + begun.postponed
    var status = (left == 0 ? nil : ending.status) ?? (view.hasFailures ? 1 : 0)
    // What is complete, and isn't handed over, is work that is left.
    if plan.isForOutput, status == 0, !ending.beginHandingOver() { status = ending.status ?? 0 }
    view.finish(status: status, left: left)
    if plan.isForOutput, status == 0 { await sendOutput() }
    return status
  }

  private func sendOutput() async {
    let path = plan.path(plan.targets[0])
    let failure = await withCheckedContinuation { done in
      DispatchQueue.global().async { done.resume(returning: FetchStandardOutput.send(path)) }
    }
    if let failure { Output.failure.withLock { $0 = $0 ?? failure } }
  }

  private func listen() {
    Interrupts.onSignal { [self] number in
      let status: Int32 = number == SIGINT ? 130 : 75
      // A second signal means that the user doesn't want to wait; what is on the disk is good for the next time.
      if !stop(status) { leave(status) }
    }
    Interrupts.onWindowChange { [view] in view.redraw() }
  }

  /// Whether it wasn't stopped before; `tell` says why it is.
  @discardableResult private func stop(_ status: Int32, _ tell: () -> Void = {}) -> Bool {
    switch ending.ask(status) {
    case .first:
      tell()
      Task { await engine.close() }
      return true
    case .again: return false
    case .nothingToPutAway:
      tell()
      leave(status)
    }
  }

  private func leave(_ status: Int32) -> Never {
    view.leaveTerminal()
    Exit.leave(status)
  }

  /// Until nothing is left to do, or nothing moves any more. Returns what is left, and what the journal has to remember of
  /// the files that are there.
  private func follow(
    _ events: AsyncStream<DownloadEvent>, _ open: Set<JobID>
  ) async -> (open: Set<JobID>, published: [StoredEvent]) {
    var (open, published): (Set<JobID>, [StoredEvent]) = (open, [])
    if open.isEmpty { return (open, published) }
    let clock = SystemClock()
    // Those that have no room. Others may have: a server declares whatever length it likes.
    var stuck: Set<JobID> = []
    for await event in events {
      var isFailing = false
      switch event {
      case .finished(let id, let file):
        let named = naming.finished(file, of: id, at: clock.wall)
        if let note = named.note { view.note(note, of: id) }
        view.show(.finished(id, named.file))
        if published.count < FetchMemory.maxEvents {
          published += [named.event, FetchMemory.published(id, named.file.path, at: clock.wall)].compactMap(\.self)
        }
        open.remove(id)
        stuck.remove(id)
      case .failed(let id, _), .cancelled(let id):
        view.show(event)
        open.remove(id)
        stuck.remove(id)
      case .waiting(let id, let explanation):
        view.show(event)
        isFailing = explanation.code == .volume
        if explanation.code == .disk, open.contains(id) { stuck.insert(id) } else { stuck.remove(id) }
      case .progress(let id, _):
        view.show(event)
        stuck.remove(id)
      default: view.show(event)
      }
      if open.isEmpty { break }
      if isFailing || stuck.count == open.count { stop(75) }
    }
    return (open, published)
  }
}
