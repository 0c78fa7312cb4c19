internal import AssetModel

/// What reaches the network thread goes to the part that it is for.
extension TransferEngine {
  func handle(_ message: EngineMessage) {
    switch message {
    case .request(let request): handle(request)
    case .transfer(let activation, let answer): if let job = job(activation) { handle(answer, job) }
    case .job(let activation, let answer): if let job = job(activation) { handle(answer, job) }
    case .control(let answer): handle(answer)
    }
  }

  private func handle(_ request: EngineRequest) {
    switch request {
    case .add(let specifications, let reply): additions.add(specifications, reply)
    case .openJobs(let app, let reply): additions.openJobs(of: app, reply)
    case .supersede(let id, let specification, let reply): additions.supersede(id, with: specification, reply)
    case .perform(let command, let id): commands.perform(command, on: id)
    case .explain(let id, let reply): explainer.explain(id, reply)
    case .progress(let id, let reply): reply.answer(active[id]?.progress(clock.boot))
    case .conditions(let conditions): network.setConditions(conditions)
    case .networkChanged: network.networkChanged()
    case .proxy(let proxy, let noProxy): network.setProxy(proxy, except: noProxy)
    case .rates(let all, let classes): bodies.setRates(all, classes)
    case .allowancesChanged: room.allowancesChanged()
    case .close(let reply): close(reply)
    }
  }

  private func handle(_ answer: TransferAnswer, _ job: ActiveJob) {
    switch answer {
    case .wrote(let buffer, let number): bodies.wroteInLane(buffer, number, job)
    case .writeFailed(let number, let error): bodies.writeFailed(number, job, error)
    case .hashed(let buffer, let number, let hasher, let waits):
      bodies.hashed(job, buffer, number, by: hasher, waits: waits)
    case .chunkHashed(let index, let result): bodies.chunkHashed(index, result, job)
    case .identified(let result): bodies.identified(job, result)
    case .identityJournalled(let failure): bodies.identityJournalled(job, failure)
    case .synchronised(let result, let bits): bodies.synchronised(job, result, bits)
    case .checkpointJournalled(let record, let bits, let failure):
      bodies.checkpointJournalled(job, record, bits, failure)
    case .challengeAnswered(let transfer, let question, let answer):
      connections.challengeAnswered(job, transfer, question, answer)
    }
  }

  private func handle(_ answer: JobAnswer, _ job: ActiveJob) {
    switch answer {
    case .reopened(let result): opening.reopened(job, result)
    case .salvaged(let result): opening.salvaged(job, result)
    case .reserved(let result): room.reserved(job, result)
    case .verified(let result): publishing.verified(job, result)
    case .cut(let result): publishing.cut(job, result)
    case .published(let result): publishing.published(job, result)
    case .keptForWantOfPlace(let failure, let size, let result):
      publishing.keptForWantOfPlace(job, failure, size: size, result)
    case .lookedForPortal(let failure, let isThere): network.lookedForPortal(job, failure, isThere: isThere)
    case .filesRemoved: endings.handle(.filesRemoved, job)
    case .committed(let failure): endings.handle(.committed(failure), job)
    }
  }

  private func handle(_ answer: ControlAnswer) {
    switch answer {
    case .originJournalled: outstanding -= 1
    case .recordsRead(let ids, let result): records.answered(ids, result)
    case .added(let addition, let result): additions.added(addition, result)
    case .openJobsRead(let result, let reply): additions.openJobsRead(result, reply)
    case .superseded(let supersession, let partial, let moment, let result):
      additions.superseded(supersession, inheriting: partial, moment, result)
    case .inherited(let record, let supersession, let failure):
      additions.inherited(record, for: supersession, failure)
    case .change(let event): commands.handle(event)
    case .filesRemoved(let event): commands.filesRemoved(event)
    case .triedJournal(let isWritten): commands.triedJournal(isWritten: isWritten)
    case .lookedForPortal(let isThere): network.lookedForPortal(isThere: isThere)
    case .madeRoom(let device, let hasDeleted): room.madeRoom(on: device, hasDeleted: hasDeleted)
    }
  }
}
