internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import LinuxSystem
internal import Synchronization

/// One `outrider fetch`: its jobs from the journal, the engine, and what people see of it.
final class FetchSession: Sendable {
  private let command: FetchCommand
  private let plan: FetchPlan
  private let store: AssetStore
  private let siblings: FetchSiblings
  private let engine: DownloadEngine
  private let advice: FetchAdvice
  private let stopped = Mutex<Int32?>(nil)

  init(_ command: FetchCommand, _ plan: FetchPlan) throws {
    Memory.keepSmall()
    self.command = command
    var plan = plan
    // What is wrong with the command is said before anything is made.
    let identity = try FetchIdentity(command, urls: plan.targets.map(\.url))
    var engineOptions = try FetchOptions.engine(command, identity, schemes: plan.schemes)
    var advice = identity?.advice ?? FetchAdvice()
    advice.hasProxyCredential = FetchOptions.hasCredential(engineOptions.transport.proxy)
    self.advice = advice
    var options = AssetStore.Options()
    options.startFresh = command.startFresh
    // Whoever types them, or lists them in a file, may have many.
    options.maxOpenJobsPerApp = 1_000_000
    try plan.makeDirectory()
    let opened = try FetchState.open(command.state, options)
    self.plan = plan
    store = opened.store
    siblings = FetchSiblings(directories: opened.siblings, plan: plan)
    // Two commands with journals of their own may fetch into one directory, and under one name.
    engineOptions.stagingOwner = (try? Files.real(opened.directory)) ?? opened.directory
    Self.tell(opened)
    engine = try DownloadEngine(journal: store, options: engineOptions)
  }

  /// Settled downloads that `explain` can still tell of.
  private static let keptDownloads = 10_000

  private static func tell(_ opened: FetchState.Opened) {
    if let holder = opened.holder {
      Output.note(
        "process \(holder.pid) has the state folder; this command's is \(opened.directory) (explain --state tells of it)"
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
    let view = FetchView(isJSON: command.json, advice: advice)
    Interrupts.onSignal { [self] number in
      let isFirst = stopped.withLock { stopped in
        guard stopped == nil else { return false }
        stopped = number == SIGINT ? 130 : 75
        return true
      }
      // Whoever asks twice doesn't want to wait; what is on the disk is good for the next time.
      guard isFirst else {
        view.leaveTerminal()
        Exit.leave(number == SIGINT ? 130 : 75)
      }
      Task { await engine.close() }
    }
    Interrupts.onWindowChange { view.redraw() }
    let events = engine.events
    var (open, postponed, staging) = try await start(view)
    var published: [StoredEvent] = []
    let clock = SystemClock()
    if !open.isEmpty {
      // Those that have no room. Others may have: a server declares whatever length it likes.
      var stuck: Set<JobID> = []
      for await event in events {
        view.show(event)
        if case .finished(let id, let file) = event, published.count < FetchedFile.maxEvents {
          published += [FetchedFile.event(id, file.path, at: clock.wall)].compactMap(\.self)
        }
        var isFailing = false
        switch event {
        case .finished(let id, _), .failed(let id, _), .cancelled(let id):
          open.remove(id)
          stuck.remove(id)
        case .waiting(let id, let explanation):
          isFailing = explanation.code == .volume
          if explanation.code == .disk, open.contains(id) { stuck.insert(id) } else { stuck.remove(id) }
        case .progress(let id, _): stuck.remove(id)
        default: break
        }
        if open.isEmpty { break }
        if isFailing || stuck.count == open.count {
          stopped.withLock { $0 = $0 ?? 75 }
          Task { await engine.close() }
        }
      }
    }
    await engine.close()
    staging?.end()
    let wall = clock.wall
    try? store.record(published + view.waiting.compactMap { FetchHold.event($0, $1, at: wall) })
    // Everything was told here and now: nothing waits for a recipient. Whoever repeats this command finds all of it.
    _ = try? store.forgetSettled(app: FetchPlan.app, keeping: Self.keptDownloads, sparing: view.jobs)
    try? store.close()
    let left = open.count + postponed
    let status = stopped.withLock { left == 0 ? nil : $0 } ?? (view.hasFailures ? 1 : 0)
    view.finish(status: status, left: left)
    return status
  }

  /// Adds what is new, and goes on with what an earlier run left. Returns the jobs that aren't settled, how many
  /// targets the engine was closed before, and the hold on the place where they are worked at.
  private func start(_ view: FetchView) async throws -> (Set<JobID>, Int, StagingLease?) {
    // Those that are done, and those that have their name already and only have to be called done.
    var (complete, named): (Set<Int>, Set<Int>) = ([], [])
    var damaged: [Int: String] = [:]
    let findings = siblings.look(into: store)
    let times = try FetchedFile.modificationTimes(store)
    func check(_ index: Int, _ record: JobRecord, _ modified: Int64?, finished: Int64? = nil) {
      let wanted = plan.specification(plan.targets[index])
      switch FetchedFile.check(record, for: wanted, modified: modified, finished: finished) {
      case .intact:
        view.alreadyComplete(record.id, record.specification, bytes: record.finalSize ?? 0)
        complete.insert(index)
      case .damaged(let why): damaged[index] = why
      case .another: break
      }
    }
    var others: [(index: Int, record: JobRecord)] = []
    // Checked when the journal isn't being read any more: it is asked about them.
    var timeless: [(Int, JobRecord)] = []
    try store.newestJobs(app: FetchPlan.app, identifiers: self.plan.targets.lazy.map { self.plan.path($0) }) {
      index, record in
      let wanted = plan.specification(plan.targets[index])
      let isOfTheSameURL = record.specification.url.utf8.elementsEqual(wanted.url.utf8)
      let isTheSame = isOfTheSameURL && record.specification.asksForTheSame(as: wanted)
      switch record.state {
      case .finished where isOfTheSameURL:
        if let time = times[record.id] { check(index, record, time) } else { timeless.append((index, record)) }
      case .verified where FetchedFile.isOf(record):
        if isTheSame { named.insert(index) } else { engine.resume(record.id) }
      case .open, .paused:
        if !isTheSame { others.append((index, record)) }
      default: break
      }
    }
    // Nobody uses a file through this journal: what stands there as its last use is when it was finished.
    for (index, record) in timeless { check(index, record, nil, finished: try store.file(of: record.id)?.lastUse) }
    let wanted = plan.targets.indices.filter { index in
      if complete.contains(index) { return false }
      let target = plan.targets[index]
      switch findings[index] {
      case .complete(let bytes):
        view.alreadyComplete(nil, plan.specification(target), bytes: bytes)
        return false
      case .inHand(let who):
        view.refuse(target.name, target.url, TransferFailure(.refused, detail: who))
        return false
      case nil: break
      }
      guard !named.contains(index), let refusal = refusal(of: target, damage: damaged[index]) else {
        return true
      }
      // Whoever knows the digest knows the file, whatever brought it there.
      let specification = plan.specification(target)
      if damaged[index] == nil, let size = FetchedFile.size(ofFileThatFits: specification) {
        view.alreadyComplete(nil, specification, bytes: size)
        return false
      }
      view.refuse(target.name, target.url, refusal)
      return false
    }
    try await giveUp(others)
    // A run that was killed leaves the folder to the next one, even if that has nothing else to do.
    let isIdle = wanted.isEmpty && !StagingLease.hasFolder(plan.directory)
    let staging = isIdle ? nil : try? StagingLease(plan.directory, app: FetchPlan.app)
    var open: Set<JobID> = []
    // The first are on their way while the last are still added.
    for first in stride(from: 0, to: wanted.count, by: Self.maxAtOnce) {
      let targets = wanted[first..<min(first + Self.maxAtOnce, wanted.count)].map { plan.targets[$0] }
      let results: [AddResult]
      do {
        results = try await engine.add(targets.map(plan.specification))
      } catch is EngineClosed {
        for target in wanted[first...].map({ plan.targets[$0] }) { view.postpone(target.name, target.url) }
        return (open, wanted.count - first, staging)
      }
      if command.foreground { try hasten(results) }
      for (target, result) in zip(targets, results) {
        if let id = try accepted(target, result, view) { open.insert(id) }
      }
    }
    return (open, 0, staging)
  }

  /// Why a target isn't even added. The journal would refuse with one all that are added with it.
  private func refusal(of target: FetchPlan.Target, damage: String?) -> TransferFailure? {
    let path = plan.path(target)
    let (most, longest) = (DownloadRules.longestIdentifier, DownloadRules.longestURL)
    if target.url.utf8.count > longest {
      return TransferFailure(.notAllowed, detail: "its URL has \(target.url.utf8.count) bytes; at most \(longest) do")
    }
    if path.utf8.count > most {
      return TransferFailure(.notAllowed, detail: "its path has \(path.utf8.count) bytes; at most \(most) do")
    }
    guard Files.exists(path) else { return nil }
    let what =
      damage.map {
        "\(Printable.text(path)) \($0), and nothing is ever replaced; remove it, and the same command fetches it"
      }
      ?? "\(Printable.text(path)) is there already, and nothing is ever replaced; remove it or choose --to"
    return TransferFailure(.refused, errno: EEXIST, detail: what)
  }

  private static let maxAtOnce = 1000

  /// What an earlier run left in the background is foreground from now on, before the engine takes it up: it goes by what
  /// the journal says then.
  private func hasten(_ results: [AddResult]) throws {
    let changes: [JournalChange] = try results.compactMap { result in
      guard case .alreadyScheduled(let id) = result, var job = try store.job(id), job.state == .open,
        job.transferClass != .foreground
      else { return nil }
      job.transferClass = .foreground
      return .job(job)
    }
    if !changes.isEmpty { try store.commit(changes) }
  }

  /// nil: that one isn't fetched, and was told.
  private func accepted(_ target: FetchPlan.Target, _ result: AddResult, _ view: FetchView) throws -> JobID? {
    switch result {
    case .added(let id, _):
      view.add(id, target.name, target.url)
      return id
    case .alreadyScheduled(let id):
      view.add(id, target.name, target.url)
      engine.resume(id)
      return id
    case .conflict(let id):
      let what = "\(Printable.text(target.name)) is still being fetched otherwise (download \(id)); try again"
      view.refuse(target.name, target.url, TransferFailure(.refused, detail: what))
      return nil
    case .tooMany(let limit): throw Failure(64, "more than \(limit) downloads are open")
    case .allowance(let missing): throw Failure(75, "the allowance lacks \(missing) bytes")
    case .invalid(let why):
      view.refuse(target.name, target.url, TransferFailure(.notAllowed, detail: why))
      return nil
    }
  }

  /// An earlier command wanted something else at the same place: this one counts. What a digest proves to be of the same
  /// file is kept, wherever it came from.
  private func giveUp(_ earlier: [(index: Int, record: JobRecord)]) async throws {
    guard !earlier.isEmpty else { return }
    let events = engine.events
    var left: Set<JobID> = []
    for (index, record) in earlier {
      let wanted = plan.specification(plan.targets[index])
      let what = "what was there from \(Self.shown(record.specification.url))"
      let name = Printable.text(record.specification.fileName)
      if record.specification.provesTheSame(as: wanted) {
        Output.note("\(name): \(what) is kept, its digests tell what it is")
        _ = try await engine.supersede(record.id, with: wanted)
      } else {
        Output.note("\(name): \(what) is given up")
        left.insert(record.id)
        engine.cancel(record.id)
      }
    }
    if left.isEmpty { return }
    for await event in events {
      if case .cancelled(let id) = event { left.remove(id) }
      if left.isEmpty { return }
    }
  }

  private static func shown(_ url: String) -> String { (try? ParsedURL(url))?.redacted ?? Printable.text(url) }
}
