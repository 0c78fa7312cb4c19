internal import AssetModel
internal import AssetStore
internal import Downloads
internal import LinuxSystem

/// From what a command is asked for to downloads of the engine: looks at what is there, and adds what is missing.
struct FetchIntake {
  let plan: FetchPlan
  let store: AssetStore
  let engine: DownloadEngine
  let siblings: FetchSiblings
  let versions: FetchVersions
  let naming: FetchNaming
  let view: FetchView
  let ending: FetchEnding
  let clock = SystemClock()
  private let bytes: FetchedBytes

  init(
    plan: FetchPlan, store: AssetStore, engine: DownloadEngine, siblings: FetchSiblings, versions: FetchVersions,
    naming: FetchNaming, view: FetchView, ending: FetchEnding
  ) {
    (self.plan, self.store, self.engine, self.siblings) = (plan, store, engine, siblings)
    (self.versions, self.naming, self.view, self.ending) = (versions, naming, view, ending)
    bytes = FetchedBytes { ending.isAsked }
  }

  /// What there is to wait for.
  struct Begun {
    /// Jobs that aren't settled.
    var open: Set<JobID> = []
    /// How many targets the engine was closed before.
    var postponed = 0
    /// The hold on the place where they are worked at.
    var staging: StagingLease?
    /// Files that standard output can be handed without one.
    var complete: [String] = []
  }

  private static let maxAtOnce = 1000

  func begin() async throws -> Begun {
    let turn: FetchTurn?
    if let turns = siblings.turns {
      try compareAhead()
      turn = await FetchTurn.take(in: turns) { ending.isAsked }
    } else {
      turn = nil
    }
    let begun = try await takeIn()
    if let turn { turn.end() }
    return begun
  }

  /// To compare a large file takes long, and who has the turn holds others up.
  private func compareAhead() throws {
    let isAny = naming.asksServers || plan.targets.contains { Files.exists(plan.path($0)) }
    guard isAny else { return }
    let findings = siblings.look(by: bytes)
    let found = try look(isAhead: true)
    for index in plan.targets.indices where !ending.isAsked { _ = decide(index, found, findings[index]) }
  }

  private func takeIn() async throws -> Begun {
    // First: what others left becomes this journal's.
    let findings = siblings.look(by: bytes, into: store)
    let found = try look()
    var begun = Begun()
    var wanted: [Int] = []
    var replaced: [Int: FileVersion] = [:]
    for index in plan.targets.indices {
      let target = plan.targets[index]
      let decision = decide(index, found, findings[index])
      // What was being compared then was no longer compared to its end.
      if ending.isAsked {
        begun.postponed += 1
        view.add(nil, plan.label(target), target.url)
        continue
      }
      switch decision {
      case .complete(let id, let name, let bytes):
        let path = "\(plan.directory)/\(name)"
        begun.complete.append(path)
        view.complete(id, target, path: path, bytes: bytes)
      case .refuse(let failure): view.refuse(plan.label(target), plan.shownURL(target), failure)
      case .fetch(let known, let version):
        wanted.append(index)
        if let known { versions.know(known, at: plan.path(target)) }
        if let version {
          versions.replace(version, at: plan.path(target))
          replaced[index] = version
        }
      }
    }
    if ending.isAsked {
      for target in wanted.map({ plan.targets[$0] }) { view.add(nil, plan.label(target), target.url) }
      begun.postponed += wanted.count
      return begun
    }
    let missing = Set(wanted)
    try await giveUp(found.others.filter { missing.contains($0.index) })
    // A run that was killed leaves the folder to the next one, even if that has nothing else to do.
    let isIdle = wanted.isEmpty && !StagingLease.hasFolder(plan.directory)
    begun.staging = isIdle ? nil : try? StagingLease(plan.directory, app: FetchPlan.app)
    try await add(wanted, replaced, to: &begun)
    return begun
  }

  /// The first are on their way while the last are still added.
  private func add(_ wanted: [Int], _ replaced: [Int: FileVersion], to begun: inout Begun) async throws {
    for first in stride(from: 0, to: wanted.count, by: Self.maxAtOnce) {
      let batch = wanted[first..<min(first + Self.maxAtOnce, wanted.count)]
      let results: [AddResult]
      do {
        results = try await engine.add(batch.map { plan.specification(plan.targets[$0]) })
      } catch is EngineClosed {
        for target in wanted[first...].map({ plan.targets[$0] }) { view.add(nil, plan.label(target), target.url) }
        begun.postponed += wanted.count - first
        return
      }
      try remember(zip(batch, results), replaced)
      if plan.isUrgent { try hasten(results) }
      for (index, result) in zip(batch, results) {
        if let id = try accepted(plan.targets[index], result) { begun.open.insert(id) }
      }
    }
  }

  // MARK: What is there

  private struct Found {
    var existing: [Int: FetchDecision.ExistingFile] = [:]
    /// Downloads of something else to the same place.
    var others: [(index: Int, record: JobRecord)] = []
    /// Names that their servers gave the files of finished downloads.
    var servedNames: [Int: String] = [:]

    /// What is true of a finished download's file. Where another has been begun since, the file is still what it is:
    /// complete, or what that one may replace.
    mutating func take(
      _ index: Int, _ record: JobRecord, _ memory: FetchMemory, _ verdict: FetchedFile.Verdict, _ mode: FetchMode
    ) {
      servedNames[index] = memory.names[record.id]
      switch (existing[index], verdict) {
      case (.open(let version), .intact(let found)) where mode == .ifChanged:
        existing[index] = .open(replaces: version ?? found)
      case (.open(let version), .outdated(let found, _)) where mode == .ifChanged:
        existing[index] = .open(replaces: version ?? found)
      case (.open, .intact) where mode != .keep: break
      case (_, .intact(let version)): existing[index] = .intact(record, version)
      case (nil, .outdated(let version, let why)): existing[index] = .outdated(version, why)
      case (nil, .damaged(let why)): existing[index] = .damaged(why)
      case (_, .outdated), (_, .damaged), (_, .another): break
      }
    }
  }

  /// `isAhead`: nothing is begun.
  private func look(isAhead: Bool = false) throws -> Found {
    var found = Found()
    let memory = try FetchMemory(store)
    naming.know(memory.names)
    // Checked when the journal isn't being read any more: it is asked about them.
    var finished: [(Int, JobRecord)] = []
    var unfinished: [Int] = []
    // A failure says nothing of the file that was there before it.
    try newest(of: plan.targets.indices, .unfailed) { index, record in
      let wanted = plan.specification(plan.targets[index])
      let isOfTheSameURL = record.specification.url.utf8.elementsEqual(wanted.url.utf8)
      let isTheSame = isOfTheSameURL && record.specification.asksForTheSame(as: wanted)
      switch record.state {
      case .finished where isOfTheSameURL: finished.append((index, record))
      case .verified where FetchedFile.isNamed(record, memory.names[record.id]):
        if isTheSame { found.existing[index] = .named } else if !isAhead { engine.resume(record.id) }
      case .open, .paused, .verified:
        unfinished.append(index)
        if isTheSame {
          found.existing[index] = .open(replaces: memory.replacedVersion(by: record))
        } else if record.state != .verified {
          found.others.append((index, record))
        }
      default: break
      }
    }
    // Nor does what was begun since and isn't finished.
    try newest(of: unfinished, .finished) { index, record in
      if record.specification.url.utf8.elementsEqual(plan.targets[index].url.utf8) { finished.append((index, record)) }
    }
    for (index, record) in finished { found.take(index, record, memory, try check(index, record, memory), plan.mode) }
    return found
  }

  private func newest(
    of indices: some Collection<Int>, _ jobs: JobSelection, _ body: (Int, JobRecord) -> Void
  ) throws {
    let indices = Array(indices)
    let paths = indices.lazy.map { plan.path(plan.targets[$0]) }
    try store.newestJobs(app: FetchPlan.app, identifiers: paths, jobs) { body(indices[$0], $1) }
  }

  private func check(_ index: Int, _ record: JobRecord, _ memory: FetchMemory) throws -> FetchedFile.Verdict {
    let modified = memory.modified[record.id]
    let finished = modified == nil ? try store.files.finished(of: record.id) : nil
    return FetchedFile.check(
      record, for: plan.specification(plan.targets[index]), by: bytes, name: memory.names[record.id],
      modified: modified, finished: finished)
  }

  private func decide(
    _ index: Int, _ found: Found, _ finding: FetchSiblings.Finding?
  ) -> FetchDecision {
    let target = plan.targets[index]
    let specification = plan.specification(target)
    let path = plan.path(target)
    let elsewhere = found.servedNames[index].map { name in
      FetchDecision.Elsewhere(path: "\(plan.directory)/\(name)", there: .init("\(plan.directory)/\(name)"))
    }
    return FetchDecision.about(
      FetchDecision.Facts(
        mode: plan.mode, path: path, existing: found.existing[index] ?? .none, sibling: finding,
        rejection: plan.rejection(of: target), elsewhere: elsewhere,
        isExpected: specification.digest != nil || specification.chunks != nil, there: .init(path),
        fittingSize: { FetchedFile.size(ofFileThatFits: specification, by: bytes) }))
  }

  // MARK: What is added

  /// Which file each was begun to replace: who goes on with it after an interruption has no other record of it.
  private func remember(_ results: Zip2Sequence<ArraySlice<Int>, [AddResult]>, _ replaced: [Int: FileVersion]) throws {
    let wall = clock.wall
    try store.history.record(
      results.flatMap { index, result -> [StoredEvent] in
        guard let version = replaced[index], let id = result.job else { return [] }
        if let name = version.name { naming.know(name, of: id) }
        return FetchMemory.begun(id, replacing: version, at: wall)
      })
  }

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
  private func accepted(_ target: FetchPlan.Target, _ result: AddResult) throws -> JobID? {
    switch result {
    case .added(let id, _):
      view.add(id, plan.label(target), target.url)
      return id
    case .alreadyScheduled(let id):
      view.add(id, plan.label(target), target.url)
      engine.resume(id)
      return id
    case .conflict(let id):
      let what = "\(Printable.text(plan.label(target))) is still being fetched otherwise (download \(id)); try again"
      view.refuse(plan.label(target), target.url, TransferFailure(.refused, detail: what))
      return nil
    case .tooMany(let limit): throw Failure(64, "more than \(limit) downloads are open")
    case .allowance(let missing): throw Failure(75, "the allowance lacks \(missing) bytes")
    case .invalid(let why):
      view.refuse(plan.label(target), target.url, TransferFailure(.notAllowed, detail: why))
      return nil
    }
  }

  /// An earlier command wanted something else at the same place: this one counts. What a digest proves to be of the same
  /// file is kept, wherever it came from, and so is what a strong entity tag tells apart at the same place.
  private func giveUp(_ earlier: [(index: Int, record: JobRecord)]) async throws {
    guard !earlier.isEmpty else { return }
    let events = engine.events
    var left: Set<JobID> = []
    for (index, record) in earlier {
      let wanted = plan.specification(plan.targets[index])
      let what = "what was there from \(ParsedURL.shown(record.specification.url))"
      let name = Printable.text(record.specification.fileName)
      if record.partial(for: wanted, isRenewed: true) != nil || record.specification.provesTheSame(as: wanted) {
        let proof = record.specification.provesTheSame(as: wanted) ? "its digests tell" : "its entity tag tells"
        view.say("\(name): \(what) is kept, \(proof) what it is")
        _ = try await engine.supersede(record.id, with: wanted, isRenewed: true)
      } else {
        view.say("\(name): \(what) is given up")
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
}
