internal import AssetModel
internal import ServiceMachines

/// Which downloads an app may have, and what they use of its allowances.
extension ServiceCore {
  /// Whether a download may be scheduled; if not, the failure has been reported.
  mutating func admitted(_ app: String, _ download: PlannedDownload, isManifest: Bool) -> Bool {
    if !isManifest, apps[app].map({ $0.registry.scheduledCount >= DownloadRegistry.maxScheduled }) ?? false {
      lastRefusal = .framework(
        102, "the app has \(DownloadRegistry.maxScheduled) scheduled downloads, and may have no more at a time")
      return false
    }
    var failure: Failure?
    change(app) { machines in
      for effect in machines.restrictions.handle(.requested(download, isManifest: isManifest), now: .start) {
        switch effect {
        case .admit(_, let budget): machines.budgets[download.uniqueIdentifier] = budget
        case .refuse(_, let refusal): failure = refusal
        case .fail, .setBudget: machines.effects.append(.restrictions(effect))
        }
      }
    }
    guard let failure else { return true }
    if isManifest, let generation = apps[app]?.manifests.first(where: { $0.value == download.uniqueIdentifier })?.key {
      tell(app, .registry(.refused(manifest: download, generation: generation)))
      tell(app, .lifecycle(.manifestRefused(generation: generation, failure: failure)))
    }
    lastRefusal = failure
    return false
  }

  mutating func answered(
    _ app: String, _ run: Int64, _ accepted: [PlannedDownload], _ rejected: [RejectedDownload], _ now: Instant
  ) {
    // Of a request that was given up meanwhile: nothing is charged for it.
    guard apps[app]?.lifecycle.active?.run == run else { return }
    var (kept, refused) = ([PlannedDownload](), rejected)
    for download in accepted {
      if apps[app]?.ledger.isUnknownToAnswer(download.identifier) == true {
        let failure = Self.isThere(download)
        refused.append(
          RejectedDownload(identifier: download.identifier, code: Int32(failure.code), reason: failure.message))
      } else if admitted(app, download, isManifest: false) {
        kept.append(download)
      } else if let failure = lastRefusal {
        refused.append(
          RejectedDownload(identifier: download.identifier, code: Int32(failure.code), reason: failure.message))
      }
    }
    tell(app, .ledger(.answered))
    tell(app, .lifecycle(.answered(run: run, accepted: kept, rejected: refused)))
  }

  mutating func admit(
    _ app: String, _ call: UInt64, _ download: PlannedDownload, isNew: Bool, _ event: () -> DownloadRegistry.Event
  ) {
    let isKnown = apps[app]?.registry.entries[download.uniqueIdentifier] != nil
    if isNew, !isKnown, apps[app]?.ledger.isDue(download.identifier) == true {
      return act(.reply(call: call, result: .failure(Self.isThere(download))))
    }
    // What is there already was admitted then.
    guard apps[app]?.budgets[download.uniqueIdentifier] == nil, !admitted(app, download, isManifest: false) else {
      return tell(app, .registry(event()))
    }
    act(.reply(call: call, result: .failure(lastRefusal ?? .framework(112, "the allowance is used up"))))
  }

  /// A second file of the same identifier would replace the first one, or be handed over to no purpose (B36).
  private static func isThere(_ download: PlannedDownload) -> Failure {
    .framework(
      100,
      "the file of the download \(Printable.text(download.identifier)) is there already, and waits to be handed over")
  }

  mutating func route(_ effect: Restrictions.Effect, of app: String) {
    switch effect {
    case .admit, .refuse: break
    case .fail(let download, let failure):
      act(.recordFailure(app: app, download: download, failure: failure))
      act(.cancelTransfer(app: app, download: download))
      tell(app, .registry(.engineSettled(uniqueIdentifier: download, settlement: .failed(failure))))
    case .setBudget(let budget, let allowed): act(.setBudget(app: app, budget: budget, allowed: allowed))
    }
  }

  mutating func received(_ app: String, _ download: String, _ bytes: Int64, _ added: Int64, _ total: Int64?) {
    tell(
      app,
      .progress(
        isManifest(download, of: app)
          ? .manifest(received: bytes, total: total)
          : .received(uniqueIdentifier: download, bytes: bytes, total: total)))
    if added > 0 {
      tell(app, .lifecycle(.essentialProgressed))
      if apps[app]?.budgets[download] != nil {
        tell(app, .restrictions(.received(uniqueIdentifier: download, bytes: added)))
      }
    }
    moved(app, download, .progress)
  }
}
