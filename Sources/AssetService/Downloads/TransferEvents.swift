internal import AssetModel
internal import AssetStore
internal import Basics
internal import Downloads
internal import Glibc
internal import Hashing
internal import LinuxSystem
internal import Logging
internal import ServiceMachines
internal import ServiceProtocol

/// What the engine says of downloads, told to the machines.
final class TransferEvents {
  private let decider: Decider
  private let downloads: DownloadTable
  private let transfers: Transfers
  private let files: DownloadFiles
  private let freshAnswers: AccessRenewal
  private let news: ServiceNews
  private let store: AssetStore
  private let retry: JournalRetry
  private let logger: Logger

  init(
    decider: Decider, downloads: DownloadTable, transfers: Transfers, files: DownloadFiles,
    freshAnswers: AccessRenewal, news: ServiceNews, store: AssetStore, retry: JournalRetry, logger: Logger
  ) {
    self.decider = decider
    self.downloads = downloads
    self.transfers = transfers
    self.files = files
    self.freshAnswers = freshAnswers
    self.news = news
    self.store = store
    self.retry = retry
    self.logger = logger
  }

  /// What the engine ended before the service that is gone could be told: the engine doesn't repeat it.
  func reconcile() async {
    for app in decider.core.apps.keys { files.discardManifests(app) }
    for (app, all) in downloads.byApp {
      for (unique, download) in all {
        if download.isDiscarded { files.discard(app, unique) }
        if download.isUndelivered { files.acknowledge(app, unique) }
      }
    }
    do {
      let open = try await Task.detached { [store] in try store.deliveries.endUnscheduled() }.value
      for job in open { transfers.engine.cancel(job) }
    } catch {
      logger.error("downloads that no app has any more can't be ended: \(error)")
    }
    do { try await applyEnds() } catch { retry.postpone(.reconciliation, of: .service, error) }
  }

  /// One question to the journal: there may be 100,000 that go on.
  func applyEnds() async throws(UnreadableJournal) {
    let settled: [(app: String, identifier: String)]
    do { settled = try store.service.settledScheduled() } catch {
      throw UnreadableJournal("what ended before the service began", error)
    }
    for (app, unique) in settled where downloads[app]?[unique]?.entry?.isKnownToEngine == true {
      await applyEndNowOrLater(of: .init(app: app, download: unique))
    }
  }

  /// Ends a download where the engine's job of it has ended.
  func applyEnd(of key: Transfers.Key) async throws(UnreadableJournal) {
    let (app, unique) = (key.app, key.download)
    // It ended for the service before the engine had let go of it.
    guard let scheduled = downloads[app]?[unique] else { return files.acknowledge(app, unique) }
    let record = try transfers.record(key)
    if scheduled.isDiscarded {
      if record?.state.isTerminal ?? true { try files.remove(app, unique) }
    } else if let record, record.state.isTerminal {
      await ended(app, unique, record)
    }
  }

  private func applyEndNowOrLater(of key: Transfers.Key) async {
    do { try await applyEnd(of: key) } catch { retry.postpone(.ending, of: .download(key), error) }
  }

  /// The engine says something of a job whose download can't be found out now.
  func happened(_ id: JobID, _ event: Transfers.Event, _ error: UnreadableJournal) {
    retry.postpone(.event(event), of: .job(id), error)
  }

  func happened(_ key: Transfers.Key, _ event: Transfers.Event) async {
    let (app, unique) = (key.app, key.download)
    if event.isEnd || downloads[app]?[unique]?.isDiscarded == true { return await applyEndNowOrLater(of: key) }
    if downloads[app]?[unique] == nil { return }
    switch event {
    case .began: decider.process(.app(app, .registry(.engineStarted(uniqueIdentifier: unique))))
    case .progress(let progress):
      let added = progress.received - received(app, unique, before: progress.received)
      downloads.change(app, unique) {
        $0.received = progress.received
        $0.total = progress.total
        $0.bytesPerSecond = progress.bytesPerSecond
        $0.waiting = nil
      }
      decider.process(
        .app(app, .received(download: unique, bytes: progress.received, added: max(0, added), total: progress.total)))
    case .waiting(let explanation):
      if explanation.code == .allowance, exceedsAllowance(app, unique) { return }
      downloads.change(app, unique) { $0.waiting = TransferWait(explanation) }
      downloads[app]?[unique]?.share(&downloads.shared)
      // Before its first byte nothing of it changes but why it waits.
      let isNews = downloads[app]?[unique]?.entry?.state != .downloading
      decider.process(.app(app, .registry(.engineWaiting(uniqueIdentifier: unique))))
      if isNews { news.publish(app, unique) }
      leaveToPlanner(app, unique, explanation)
    case .paused: news.publish(app, unique)
    case .finished, .failed, .cancelled: break
    }
  }

  /// What has no size was let in before the first launch on condition that it keeps to the allowance (B63), the manifest among it.
  /// What has one has that reserved, and asks for more only where it was too small. Either fails where the allowance ends: no
  /// first launch can raise it as long as the gate waits for the manifest. Returns whether it did.
  private func exceedsAllowance(_ app: String, _ unique: String) -> Bool {
    guard let value = downloads[app]?[unique]?.value, decider.core.apps[app]?.restrictions.isActive == true else {
      return false
    }
    let failure = Failure.framework(
      204, "\(Printable.text(value.identifier)) goes beyond what is left of the allowance before the first launch")
    let key = Transfers.Key(app: app, download: unique)
    retry.attempt(.release, of: key) { () throws(UnreadableJournal) in try transfers.cancel(key) }
    if value.isManifest { freshAnswers.giveUp(of: app) }
    log(app, unique, .failed(failure))
    decider.process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: .failed(failure)))))
    return true
  }

  /// Where no user waits at a gate, the planner says when a manifest is asked for again: its times are further apart than
  /// the engine's, so that a whole fleet doesn't stand before an origin that comes back.
  private func leaveToPlanner(_ app: String, _ unique: String, _ explanation: Explanation) {
    guard downloads[app]?[unique]?.value.isManifest == true,
      decider.core.apps[app]?.lifecycle.gate.isClosed == false,
      [.retrying, .originBackoff, .retryAfter].contains(explanation.code)
    else { return }
    let failure = Failure(
      domain: Failure.networkDomain, code: -1004,
      message: "the manifest can't be had now (\(explanation.code.rawValue)); it is asked for again later")
    decider.process(.app(app, .manifestLost(download: unique, failure: failure)))
    freshAnswers.giveUp(of: app)
  }

  /// What was booked of it before: since a service began anew, what its predecessor had booked.
  private func received(_ app: String, _ unique: String, before now: Int64) -> Int64 {
    if let received = downloads[app]?[unique]?.transfer.received, received > 0 { return received }
    return min(now, decider.core.apps[app]?.restrictions.charged(unique) ?? 0)
  }

  /// The engine is done with a download.
  func ended(_ app: String, _ unique: String, _ record: JobRecord) async {
    let settlement: Settlement
    if record.state.isTerminal, decider.core.apps[app]?.restrictions.isActive == true {
      decider.process(.app(app, .restrictions(.ended(uniqueIdentifier: unique, charged: record.receivedBytes))))
    }
    switch record.state {
    case .finished:
      let size = record.finalSize ?? 0
      if downloads[app]?[unique]?.value.isManifest == true { return await manifestEnded(app, unique, record, size) }
      downloads.change(app, unique) { ($0.received, $0.total, $0.waiting) = (size, size, nil) }
      decider.process(.app(app, .received(download: unique, bytes: size, added: 0, total: size)))
      settlement = .finished(size: size)
    case .failed(let failure):
      let isChallengeCancelled = downloads[app]?[unique]?.transfer.isChallengeCancelled == true
      if !isChallengeCancelled, freshAnswers.asks(app, unique, record, failure) { return }
      // Who schedules it again gets another download, which doesn't go on from what is there.
      if record.leftover != nil { transfers.engine.cancel(record.id) }
      settlement = .failed(
        Failure(
          failure.keepingNothing, isRestricted: record.specification.allowedDomains != nil,
          isChallengeCancelled: isChallengeCancelled))
      if downloads[app]?[unique]?.value.isManifest == true { freshAnswers.giveUp(of: app) }
    case .cancelled: settlement = .cancelled
    case .open, .paused, .verified: return
    }
    log(app, unique, settlement)
    decider.process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: settlement))))
  }

  private func manifestEnded(_ app: String, _ unique: String, _ record: JobRecord, _ size: Int64) async {
    let path = "\(record.specification.directory)/\(record.specification.fileName)"
    let digest = await Task.detached { TransferEvents.digest(of: path) }.value
    decider.process(
      .app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: .finished(size: size)))))
    if let digest {
      decider.process(.app(app, .manifestFinished(download: unique, digest: digest, size: size)))
    } else {
      let failure = Failure(domain: Failure.networkDomain, code: -1100, message: "the manifest's file is gone")
      decider.process(.app(app, .manifestLost(download: unique, failure: failure)))
    }
  }

  private func log(_ app: String, _ unique: String, _ settlement: Settlement) {
    guard let download = downloads[app]?[unique] else { return }
    // Its transfer was ended because it had failed, which was logged.
    if settlement == .cancelled, download.entry?.state == .failed { return }
    let value = download.value
    let name = Printable.text(value.identifier)
    switch settlement {
    case .finished(let size):
      let difference = value.fileSize.map { $0 == size ? "" : ", where \($0) were declared" } ?? ""
      news.logWithNext(app, "downloaded", "\(name), \(size) bytes\(difference)")
    case .failed(let failure): news.logWithNext(app, "failed", "\(name): \(failure.message)")
    case .cancelled: news.logWithNext(app, "cancelled", name)
    }
  }

  private static func digest(of path: String) -> String? {
    guard let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
    var hash = RunningHash(.sha256)
    while let part = try? file.readAll(limit: 1 << 20), !part.isEmpty { part.withUnsafeBytes { hash.update($0) } }
    return Hexadecimal.text(hash.digest)
  }
}
