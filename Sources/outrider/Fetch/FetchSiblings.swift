internal import AssetModel
internal import AssetStore
internal import Downloads
internal import LinuxSystem

/// The journals of other commands with the default state folder: of those that run now, and of those that ran while another
/// had the first. A file that one of them fetched is complete, and what one of them left is gone on with.
struct FetchSiblings {
  let directories: [String]
  /// Where they take turns (`FetchTurn`).
  let turns: String?
  let plan: FetchPlan

  enum Finding: Equatable {
    case complete(JobRecord, FileVersion)
    /// It is another command's, for the reason that is given.
    case inHand(String)
  }

  /// What the journals say of this plan's files, by their places in it. What no other process has in hand becomes `store`'s, if
  /// one is given.
  func look(by bytes: FetchedBytes, into store: AssetStore? = nil) -> [Int: Finding] {
    var findings: [Int: Finding] = [:]
    for directory in directories {
      do {
        findings.merge(try look(at: directory, bytes, into: store)) { first, _ in first }
      } catch {
        // The files of this command don't depend on it.
        Output.note("the journal in \(directory) isn't looked at: \(error)")
      }
    }
    return findings
  }

  private func look(at directory: String, _ bytes: FetchedBytes, into store: AssetStore?) throws -> [Int: Finding] {
    guard Files.exists("\(directory)/\(AssetStore.databaseName)") else { return [:] }
    var options = AssetStore.Options()
    options.isReadOnly = true
    let sibling = try AssetStore(opening: directory, options: options)
    let (finished, open) = try records(in: sibling)
    var findings: [Int: Finding] = [:]
    if !finished.isEmpty {
      let memory = try FetchMemory(sibling)
      for (index, record) in finished {
        let modified = memory.modified[record.id]
        let seen = modified == nil ? try sibling.files.finished(of: record.id) : nil
        let verdict = FetchedFile.check(
          record, for: plan.specification(plan.targets[index]), by: bytes, name: memory.names[record.id],
          modified: modified, finished: seen)
        if case .intact(let version) = verdict { findings[index] = .complete(record, version) }
      }
    }
    try sibling.close()
    guard let store, !open.isEmpty else { return findings }
    do {
      try adopt(from: directory, into: store)
    } catch StoreError.heldBy(let pid, _, _, _) {
      for (index, isOfTheSameURL) in open {
        findings[index] = .inHand(
          isOfTheSameURL
            ? "process \(pid) fetches it; the same command, when that has ended, finds it or goes on"
            : "process \(pid) fetches another URL to that file; name another one with --output, or wait for it")
      }
    }
    return findings
  }

  private func records(
    in sibling: AssetStore
  ) throws -> (finished: [(Int, JobRecord)], open: [(index: Int, isOfTheSameURL: Bool)]) {
    var (finished, open): ([(Int, JobRecord)], [(index: Int, isOfTheSameURL: Bool)]) = ([], [])
    let paths = plan.targets.lazy.map { plan.path($0) }
    try sibling.newestJobs(app: FetchPlan.app, identifiers: paths, .unfailed) { index, record in
      let isOfTheSameURL = record.specification.url.utf8.elementsEqual(plan.targets[index].url.utf8)
      if record.state == .finished, isOfTheSameURL { finished.append((index, record)) }
      if !record.state.isTerminal { open.append((index, isOfTheSameURL)) }
    }
    return (finished, open)
  }

  /// First the new journal knows what is there, then the old one forgets it: who is killed in between loses nothing.
  private func adopt(from directory: String, into store: AssetStore) throws {
    let sibling = try AssetStore(opening: directory)
    var open: [JobRecord] = []
    try sibling.newestJobs(app: FetchPlan.app, identifiers: plan.targets.lazy.map { plan.path($0) }) { _, record in
      if !record.state.isTerminal { open.append(record) }
    }
    let memory = try FetchMemory(sibling)
    let owner = (try? Files.real(directory)) ?? directory
    for var record in open {
      if case .added(let id, let generation) = try store.add([record.specification], now: record.enqueued).first {
        try store.history.record(memory.events(of: record, as: id, at: SystemClock().wall))
        try store.commit([.job(Self.copy(record, as: id, generation: max(generation, record.generation)))])
      }
      // Nothing of it is certain, and who goes on with it knows only its own names.
      if record.partial == nil { try? LeftoverFile.removeUnrecorded(of: record, owner: owner) }
      record.state = .cancelled
      record.partial = nil
      try sibling.commit([.job(record)])
    }
    try sibling.close()
  }

  private static func copy(_ record: JobRecord, as id: JobID, generation: Int) -> JobRecord {
    JobRecord(
      id: id, specification: record.specification, transferClass: record.transferClass, generation: generation,
      state: record.state, partial: record.partial, history: record.history, receivedBytes: record.receivedBytes,
      enqueued: record.enqueued, wait: record.wait, lastProgress: record.lastProgress, lastError: record.lastError,
      lastCause: record.lastCause, publishedInode: record.publishedInode, finalSize: record.finalSize)
  }
}
