internal import AssetModel
internal import Basics

/// New downloads, and apps that are removed or updated while theirs are under way. Network thread only.
final class Additions: EnginePart {
  unowned let engine: TransferEngine
  /// Those that wait for the result of an update, by its number.
  var replies: [UInt64: EngineReply<AddResult>] = [:]

  /// Downloads that the journal is asked to add.
  struct Addition: Sendable {
    let specifications: [DownloadSpecification]
    let moment: StoredMoment
    /// Of all that were asked for, in their order: the running job that one is in conflict with; nil: it is added.
    let refused: [JobID?]
    let reply: EngineReply<[AddResult]>
  }

  init(_ engine: TransferEngine) { self.engine = engine }

  // What it uses of the others.
  var endings: JobEndings { engine.parts.endings }
  var records: JobRecords { engine.parts.records }

  func add(_ specifications: [DownloadSpecification], _ reply: EngineReply<[AddResult]>) {
    guard !engine.isClosing else { return reply.refuse() }
    let refused = runningOtherwise(specifications)
    let addition = Addition(
      specifications: zip(specifications, refused).filter { $1 == nil }.map(\.0), moment: clock.now, refused: refused,
      reply: reply)
    let mailbox = mailbox
    engine.outstanding += 1
    journal.add(addition.specifications, now: addition.moment) { mailbox.post(.control(.added(addition, $0))) }
  }

  func added(_ addition: Addition, _ result: Result<[AddResult], any Error>) {
    engine.outstanding -= 1
    if case .success(let results) = result {
      for (specification, result) in zip(addition.specifications, results) {
        added(specification, result, addition.moment)
        // Of very many, each would be looked up for it.
        guard results.count <= Self.maxTold, let id = result.job else { continue }
        engine.reportIfBlocked(
          id, specification.transferClass, engine.origins.number(of: TransferEngine.origin(of: specification.url)))
      }
      engine.needsSchedule = true
    }
    addition.reply.answer(
      result.map { results in
        var results = results[...]
        return addition.refused.compactMap { $0.map { .conflict($0) } ?? results.popFirst() }
      })
  }

  private static let maxTold = 64

  /// Of each, the running job of that name which expects something else of its bytes: it has checked some by that.
  private func runningOtherwise(_ specifications: [DownloadSpecification]) -> [JobID?] {
    if engine.active.isEmpty { return Array(repeating: nil, count: specifications.count) }
    let running = Dictionary(grouping: engine.active.values) { $0.record.specification.identifier }
    return specifications.map { specification in
      running[specification.identifier]?.first {
        let own = $0.record.specification
        return own.app == specification.app
          && !(own.expectsTheSame(as: specification) && own.mirrors == specification.mirrors)
      }?.id
    }
  }

  private func added(_ specification: DownloadSpecification, _ result: AddResult, _ moment: StoredMoment) {
    switch result {
    case .added(let id, let generation):
      let record = JobRecord(id: id, specification: specification, generation: generation, enqueued: moment)
      // What a budget has promised to a job, and what an earlier one of its name has left, is for the journal to say.
      if specification.budget == nil, generation == 1 { records.added(record) }
      let entry = engine.entry(of: record)
      // A person waits: whether the road is free is found out now.
      if entry.transferClass == .foreground { engine.origins[entry.origin].breaker.probeNow(now: clock.boot) }
      engine.scheduler.enqueue(entry, now: clock.boot)
    case .alreadyScheduled(let id):
      // It may be expected to have other bytes from now on; in the meantime it may have begun.
      records.reads.invalidate(id)
      if let own = engine.active[id]?.record.specification,
        !own.expectsTheSame(as: specification) || own.mirrors != specification.mirrors, let job = engine.active[id]
      {
        endings.stop(job, then: .yield)
      }
    case .conflict, .tooMany, .allowance, .invalid: break
    }
  }
}
