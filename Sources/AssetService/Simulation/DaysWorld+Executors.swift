internal import AssetModel
internal import Basics
internal import ServiceMachines

// What executors do in the service, here with answers that come after a while.
extension DaysWorld {
  mutating func carryOut(_ action: Action) {
    switch action {
    case .addTransfer(let app, let download, let urgency, let isPaused, let isManifest, _):
      add(.init(app: app, download: download.uniqueIdentifier), download, urgency, isPaused, isManifest)
    case .setUrgency(let app, let download, let urgency):
      transfers[.init(app: app, download: download)]?.urgency = urgency
    case .pauseTransfer(let app, let download): transfers[.init(app: app, download: download)]?.isPaused = true
    case .resumeTransfer(let app, let download):
      transfers[.init(app: app, download: download)]?.isPaused = false
      begin(.init(app: app, download: download))
    case .cancelTransfer(let app, let download):
      transfers[.init(app: app, download: download)] = nil
      tell(app, .registry(.engineSettled(uniqueIdentifier: download, settlement: .cancelled)))
    case .startContentRun(let app, let run, _, _, _): start(app, run, isCallback: false)
    case .startCallbackRun(let app, let run): start(app, run, isCallback: true)
    case .endRun(let run): end(run, .interrupted)
    case .reportRejected(let app, let downloads):
      for download in downloads {
        tell(
          app,
          .rejected(
            download: "rejected \(download.identifier)", failure: .framework(Int(download.code), download.reason)))
      }
    case .withdrawDownload(let app, let download):
      transfers[.init(app: app, download: download)] = nil
      deliveries.untold[.init(app: app, download: download)] = nil
    case .placeVersion(let app, let version): tell(app, .lifecycle(.versionPlaced(version: version)))
    case .removeApp(let app): tell(app, .lifecycle(.removed))
    case .inspect(let app, let download, let then): inspect(.init(app: app, download: download), then)
    case .closeDelivery(let app, let download, let outcome): settled(.init(app: app, download: download), outcome)
    case .call(let app, let recipient, let occurrence): call(app, recipient, occurrence)
    case .refusedWake(let app, _, let refusal):
      report.refusals[refusal.reason.rawValue, default: 0] += 1
      if let index = index(of: app) { report.apps[index].refusals += 1 }
      note(app, "wake refused", refusal.reason.rawValue)
    case .setBudget, .discardManifests, .keepVersions, .forget, .deleteFile, .reply, .notify, .withdraw, .endChallenge,
      .controlGranted, .controlRefused, .store, .remove, .recordFailure, .simulationEnded:
      break
    }
  }

  private mutating func add(
    _ key: SimulatedTransfers.Key, _ download: PlannedDownload, _ urgency: DownloadRegistry.Urgency, _ isPaused: Bool,
    _ isManifest: Bool
  ) {
    if deliveries.told.contains(key) { violated("\(key.download) was scheduled after it was told of") }
    if transfers[key] == nil {
      transfers[key] = .init(
        size: download.size ?? 50_000, urgency: urgency, isManifest: isManifest, isPaused: isPaused)
      if !isManifest, let index = index(of: key.app) {
        report.apps[index].scheduled += 1
        deliveries.untold[key] = now
      }
    }
    tell(key.app, .registry(.engineAdded(uniqueIdentifier: key.download)))
    begin(key)
  }

  private mutating func settled(_ key: SimulatedTransfers.Key, _ outcome: DeliveryLedger.Outcome) {
    guard let index = index(of: key.app) else { return }
    // Manifests and rejected downloads that failed are told of as well.
    guard deliveries.untold.removeValue(forKey: key) != nil else {
      report.apps[index].failuresTold += 1
      if deliveries.told.contains(key) { violated("\(key.download) was settled twice") }
      return
    }
    deliveries.told.insert(key)
    switch outcome {
    case .delivered: report.apps[index].delivered += 1
    case .left: report.apps[index].left += 1
    case .undelivered: report.apps[index].undelivered += 1
    }
    note(key.app, outcome.rawValue, key.download)
  }

  private mutating func inspect(_ key: SimulatedTransfers.Key, _ then: Action.Inspection) {
    let isMoved = deliveries.moved.contains(key)
    switch then {
    case .acknowledged: tell(key.app, .ledger(.acknowledged(uniqueIdentifier: key.download, isMoved: isMoved)))
    case .recipientGone: tell(key.app, .ledger(.recipientGone(uniqueIdentifier: key.download, isMoved: isMoved)))
    case .inspected: tell(key.app, .ledger(.inspected(uniqueIdentifier: key.download, isMoved: isMoved)))
    }
  }

  // MARK: Extensions

  private mutating func start(_ app: String, _ run: Int64, isCallback: Bool) {
    checkWake(app)
    runs[run] = Run(app: app, began: now, isCallback: isCallback)
    report.wakes += 1
    if let index = index(of: app) { report.apps[index].wakes += 1 }
    note(app, "wake", isCallback ? "callbacks" : "\(core.apps[app]?.lifecycle.active?.kind, default: "none")")
    guard isCallback else {
      return queue.add(.contentRun(app: app, run: run), at: now + .seconds(3) * random.fraction())
    }
    tell(app, .router(.extensionReady(run: run)))
    endIfIdle(run)
  }

  mutating func answerContent(_ app: String, _ number: Int64) {
    guard let run = runs[number], !run.isCallback else { return }
    if crashes(app) { return end(number, .crashed) }
    let kind = core.apps[app]?.lifecycle.active?.kind ?? .periodic
    let count = Int(random.fraction() * 4)
    let downloads = (0..<count).map { part in
      PlannedDownload(
        uniqueIdentifier: "\(app)-\(number)-\(part)", identifier: "\(app)-\(number)-\(part)",
        isEssential: kind.permitsEssential && random.fraction() < 0.5, size: 100_000 + Int64(random.fraction() * 20e6),
        host: "example.com")
    }
    tell(app, .answered(run: number, accepted: downloads, rejected: []))
    end(number, .returned)
  }

  /// One app in seven has an extension that is broken for a while.
  private mutating func crashes(_ app: String) -> Bool {
    guard (index(of: app) ?? 0) % 7 == 3 else { return random.fraction() < 0.01 }
    return random.fraction() < 0.5
  }

  mutating func end(_ number: Int64, _ end: RunEnd) {
    guard let run = runs.removeValue(forKey: number) else {
      return tell(.planner(.ended(run: number, runtime: .zero, end: end)))
    }
    let used = now - run.began
    if let index = index(of: run.app) {
      report.apps[index].runtimeSeconds += used.inSeconds
      if end.isFaultOfExtension { report.apps[index].crashes += 1 }
    }
    if end != .returned { note(run.app, "run ended", end.rawValue) }
    tell(.planner(.ended(run: number, runtime: used, end: end)))
    tell(run.app, .runEnded(run: number, end: end))
  }

  private mutating func endIfIdle(_ number: Int64) {
    if let run = runs[number], run.isCallback, run.calls.isEmpty { end(number, .returned) }
  }

  private mutating func call(_ app: String, _ recipient: Recipient, _ occurrence: EventRouter.Occurrence) {
    let delay = Duration.milliseconds(200) * random.fraction()
    switch recipient {
    case .entryPoint(let run):
      runs[run]?.calls.insert(occurrence.number)
      queue.add(.callbackDone(app: app, run: run, number: occurrence.number), at: now + delay)
    case .connection(let connection):
      queue.add(.delegateDone(app: app, connection: connection, number: occurrence.number), at: now + delay)
    case .delegate: break
    }
  }

  mutating func answerCallback(_ app: String, _ run: Int64, _ number: Int64) {
    guard runs[run]?.calls.contains(number) == true else { return }
    if crashes(app) { return end(run, .crashed) }
    runs[run]?.calls.remove(number)
    take(app, number)
    tell(app, .router(.answered(number: number, recipient: .entryPoint(run: run), isHandled: true)))
    endIfIdle(run)
  }

  mutating func answerDelegate(_ app: String, _ connection: Int64, _ number: Int64) {
    guard connections[app] == connection else { return }
    let isHandled = random.fraction() < 0.8
    if isHandled { take(app, number) }
    tell(app, .router(.answered(number: number, recipient: .connection(connection), isHandled: isHandled)))
  }

  /// Moves the file away, as a callback should; some forget.
  private mutating func take(_ app: String, _ number: Int64) {
    guard let occurrence = core.apps[app]?.occurrences[number], occurrence.kind == .finished, random.fraction() < 0.95
    else { return }
    deliveries.moved.insert(.init(app: app, download: occurrence.uniqueIdentifier))
  }
}
