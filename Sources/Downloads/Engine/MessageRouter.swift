internal import AssetModel

/// Gives each message to the part of the engine that it is for, and drops what is of a run that is over. Network thread only.
struct MessageRouter {
  unowned let engine: TransferEngine

  private var parts: EngineParts { engine.parts }

  func handle(_ message: EngineMessage) {
    switch message {
    case .request(let request): handle(request)
    case .transfer(let activation, let answer): if let job = engine.job(activation) { handle(answer, job) }
    case .job(let activation, let answer): if let job = engine.job(activation) { handle(answer, job) }
    case .control(let answer): handle(answer)
    }
  }

  private func handle(_ request: EngineRequest) {
    switch request {
    case .add(let specifications, let reply): parts.additions.add(specifications, reply)
    case .openJobs(let app, let reply): parts.additions.openJobs(of: app, reply)
    case .supersede(let id, let specification, let isRenewed, let reply):
      if let supersession = parts.additions.supersession(specification, isRenewed: isRenewed, reply) {
        parts.commands.perform(.supersede(supersession), on: id)
      }
    case .perform(let command, let id): parts.commands.perform(command, on: id)
    case .explain(let id, let reply): parts.explainer.explain(id, reply)
    case .progress(let id, let reply): reply.answer(engine.active[id]?.progress(engine.clock.boot))
    case .conditions(let conditions): parts.network.setConditions(conditions)
    case .networkChanged: parts.network.networkChanged()
    case .proxy(let proxy, let noProxy): parts.network.setProxy(proxy, except: noProxy)
    case .rates(let all, let classes): parts.bodies.setRates(all, classes)
    case .allowancesChanged(let budget): parts.room.allowancesChanged(of: budget)
    case .close(let reply): engine.close(reply)
    }
  }

  private func handle(_ answer: TransferAnswer, _ job: ActiveJob) {
    switch answer {
    case .wrote(let buffer, let number): parts.bodies.wroteInLane(buffer, number, job)
    case .writeFailed(let number, let error): parts.bodies.writeFailed(number, job, error)
    case .hashed(let buffer, let number, let hasher, let waits):
      parts.bodies.hashed(job, buffer, number, by: hasher, waits: waits)
    case .chunkHashed(let index, let result): parts.bodies.chunkHashed(index, result, job)
    case .identified(let result): parts.bodies.identified(job, result)
    case .identityJournalled(let failure): parts.bodies.identityJournalled(job, failure)
    case .synchronised(let result, let bits): parts.bodies.synchronised(job, result, bits)
    case .checkpointJournalled(let record, let bits, let failure):
      parts.bodies.checkpointJournalled(job, record, bits, failure)
    case .challengeAnswered(let transfer, let question, let answer):
      parts.connections.challengeAnswered(job, transfer, question, answer)
    }
  }

  private func handle(_ answer: JobAnswer, _ job: ActiveJob) {
    switch answer {
    case .reopened(let result): parts.opening.reopened(job, result)
    case .salvaged(let result): parts.opening.salvaged(job, result)
    case .reserved(let result): parts.opening.reserved(job, result)
    case .verified(let result): parts.publishing.verified(job, result)
    case .cut(let result): parts.publishing.cut(job, result)
    case .published(let result): parts.publishing.published(job, result)
    case .keptForWantOfPlace(let failure, let size, let result):
      parts.publishing.keptForWantOfPlace(job, failure, size: size, result)
    case .lookedForPortal(let failure, let isThere): parts.endings.lookedForPortal(job, failure, isThere: isThere)
    case .filesRemoved: parts.endings.handle(.filesRemoved, job)
    case .committed(let failure): parts.endings.handle(.committed(failure), job)
    }
  }

  private func handle(_ answer: ControlAnswer) {
    switch answer {
    case .originJournalled: engine.outstanding -= 1
    case .recordsRead(let ids, let result): parts.commands.recordsRead(ids, result)
    case .added(let addition, let result): parts.additions.added(addition, result)
    case .openJobsRead(let result, let reply): parts.additions.openJobsRead(result, reply)
    case .superseded(let supersession, let partial, let moment, let result):
      parts.additions.superseded(supersession, inheriting: partial, moment, result)
    case .inherited(let record, let supersession, let failure):
      parts.additions.inherited(record, for: supersession, failure)
    case .change(let event): parts.commands.handle(event)
    case .filesRemoved(let event): parts.commands.filesRemoved(event)
    case .triedJournal(let isWritten): parts.commands.triedJournal(isWritten: isWritten)
    case .lookedForPortal(let isThere): parts.network.lookedForPortal(isThere: isThere)
    case .madeRoom(let device, let hasDeleted): parts.room.madeRoom(on: device, hasDeleted: hasDeleted)
    }
  }
}
