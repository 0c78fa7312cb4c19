internal import AssetModel

/// New downloads, and what somebody hears of them at once.
extension EngineCore {
  func add(
    _ specifications: [DownloadSpecification],
    _ completion: @escaping @Sendable (Result<[AddResult], any Error>) -> Void
  ) {
    guard !isClosing else { return completion(.failure(EngineClosed())) }
    let mailbox = mailbox
    let moment = clock.now
    let refused = runningOtherwise(specifications)
    let others = zip(specifications, refused).filter { $1 == nil }.map(\.0)
    outstanding += 1
    journal.add(others, now: moment) { result in
      mailbox.post { core in
        core.outstanding -= 1
        if case .success(let results) = result {
          for (specification, result) in zip(others, results) {
            core.added(specification, result, moment)
            // Of very many, each would be looked up for it.
            guard results.count <= Self.maxTold, let id = result.job else { continue }
            core.tellIfBlocked(
              id, specification.transferClass, core.origins.number(of: Self.origin(of: specification.url)))
          }
          core.needsSchedule = true
        }
        completion(
          result.map { results in
            var results = results[...]
            return refused.compactMap { $0.map { .conflict($0) } ?? results.popFirst() }
          })
      }
    }
  }

  private static let maxTold = 64

  /// Of one that can't even begin, somebody is told why. Those that only wait for a slot aren't news.
  func tellIfBlocked(_ id: JobID, _ transferClass: TransferClass, _ origin: UInt32) {
    let now = clock.boot
    guard scheduler.isWaiting(id),
      origins[origin].isBlocked(now: now) || conditions.gate(for: transferClass, now: now) != nil,
      let explanation = explain(id), explanation.code != .queued
    else { return }
    events.send(.waiting(id, explanation))
  }

  /// Of each, the running job of that name which expects something else of its bytes: it has checked some by that.
  private func runningOtherwise(_ specifications: [DownloadSpecification]) -> [JobID?] {
    if active.isEmpty { return Array(repeating: nil, count: specifications.count) }
    let running = Dictionary(grouping: active.values) { $0.record.specification.identifier }
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
      if added.count < EngineCore.maxAdded, specification.budget == nil, generation == 1 { added[id] = record }
      let entry = entry(of: record)
      // A person waits: whether the road is free is found out now.
      if entry.transferClass == .foreground { origins[entry.origin].breaker.hurry(now: clock.boot) }
      scheduler.enqueue(entry, now: clock.boot)
    case .alreadyScheduled(let id):
      // It may be expected to have other bytes from now on; in the meantime it may have begun.
      added[id] = nil
      if let own = active[id]?.record.specification,
        !own.expectsTheSame(as: specification) || own.mirrors != specification.mirrors, let job = active[id]
      {
        settle(job, .yield)
      }
    case .conflict, .tooMany, .allowance, .invalid: break
    }
  }
}
