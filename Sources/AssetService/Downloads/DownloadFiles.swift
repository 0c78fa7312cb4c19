internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import PluginHost
internal import ServiceMachines
internal import ServiceProtocol

/// Files and rows of downloads that are delivered, deleted or over.
final class DownloadFiles {
  private let decider: Decider
  private let downloads: DownloadTable
  private let transfers: Transfers
  private let plan: TransferPlan
  private let store: AssetStore
  private let thread: ServiceThread
  private let retry: JournalRetry
  private let logger: Logger
  private var bounds = JournalBounds()

  init(
    decider: Decider, downloads: DownloadTable, transfers: Transfers, plan: TransferPlan, store: AssetStore,
    thread: ServiceThread, retry: JournalRetry, logger: Logger
  ) {
    self.decider = decider
    self.downloads = downloads
    self.transfers = transfers
    self.plan = plan
    self.store = store
    self.thread = thread
    self.retry = retry
    self.logger = logger
  }

  /// Removes a download, or does so when the journal can be read.
  func discard(_ app: String, _ unique: String) {
    retry.attempt(.action(.deleteFile(app: app, download: unique)), of: .init(app: app, download: unique)) {
      () throws(UnreadableJournal) in try remove(app, unique)
    }
  }

  /// Ends the transfer if there is one, deletes the file, and only then forgets the download.
  func remove(_ app: String, _ unique: String) throws(UnreadableJournal) {
    guard let value = downloads[app]?[unique]?.value else { return }
    let key = Transfers.Key(app: app, download: unique)
    // Until the engine has let go of it, it may still publish the file.
    if let record = try transfers.record(key), !record.state.isTerminal { return transfers.engine.cancel(record.id) }
    unlink(plan.path(of: value))
    endDelivery(app, unique)
    downloads[app]?[unique] = nil
    try? store.service.commit([ServiceChange.scheduled(app: app, identifier: unique, value: nil)])
  }

  /// The manifests that no content request reads any more.
  func discardManifests(_ app: String) {
    let kept = Set(decider.core.apps[app]?.manifests.values ?? [:].values)
    for (unique, download) in downloads[app] ?? [:] where download.value.isManifest && !kept.contains(unique) {
      // A failed one is still to be told of.
      if decider.core.apps[app]?.failed.contains(unique) == true {
        unlink(plan.path(of: download.value))
      } else {
        downloads[app]?[unique]?.isDiscarded = true
        discard(app, unique)
      }
    }
  }

  func deleteAll(of app: String) {
    for download in (downloads[app] ?? [:]).values { unlink(plan.path(of: download.value)) }
  }

  /// Its delivery went with its row; an undelivered one has kept that.
  func endDelivery(_ app: String, _ unique: String) {
    if downloads[app]?[unique]?.isUndelivered == true { acknowledge(app, unique) }
    transfers.forget(.init(app: app, download: unique))
    if bounds.count(wall: WallClock.now()) { boundJournal() }
  }

  /// Reports no more events of the engine's job of it.
  func acknowledge(_ app: String, _ unique: String) {
    do { try store.deliveries.acknowledge(app: app, identifier: unique) } catch {
      logger.error("the delivery of \(unique) can't be ended: \(error)", metadata: ["app": "\(app)"])
    }
  }

  /// Looks whether the recipient has taken the file, and says so to the machines.
  func inspect(_ app: String, _ unique: String, _ then: Action.Inspection) throws(UnreadableJournal) {
    // What a service that was killed had put into the extension's container. Without its inode, a file that no recipient was
    // told of would pass for one that was taken.
    if then == .inspected, let value = downloads[app]?[unique]?.value,
      let inode = try transfers.record(.init(app: app, download: unique))?.publishedInode
    {
      _ = try? PluginHost.takeBack(
        inode: inode, from: plan.container(of: value.applicationGroupIdentifier), to: plan.path(of: value))
    }
    let isMoved = downloads[app]?[unique].map { !Files.exists(plan.path(of: $0.value)) } ?? true
    let event: DeliveryLedger.Event =
      switch then {
      case .acknowledged: .acknowledged(uniqueIdentifier: unique, isMoved: isMoved)
      case .recipientGone: .recipientGone(uniqueIdentifier: unique, isMoved: isMoved)
      case .inspected: .inspected(uniqueIdentifier: unique, isMoved: isMoved)
      }
    decider.process(.app(app, .ledger(event)))
  }

  /// From now on the file may be purged, wherever it is moved (B56). Before any recipient is told of it, so that no recipient
  /// has it without the mark.
  func mark(_ path: String) {
    guard let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return }
    do throws(SystemCallError) {
      if try !PurgeMark.set(on: file) {
        logger.debug("\(path) can't be purged: its volume keeps no attributes of users")
      }
    } catch {
      logger.warning("\(path) isn't marked as purgeable: \(error)")
    }
  }

  /// Forgets what is over for long, or beyond the number that is kept, and that no app has any more.
  /// One app after the other, with other questions in between, so that none waits for all of them.
  func boundJournal() {
    thread.later { await $0.parts.files.forgetUnscheduled(before: WallClock.now() - JournalBounds.longestAge) }
  }

  func forgetUnscheduled(before oldest: Int64) async {
    for app in decider.core.apps.keys.sorted() where !decider.isClosed {
      do {
        try store.retention.forgetUnscheduled(app: app, keeping: JournalBounds.keptPerApp, before: oldest)
      } catch {
        logger.error("what is over can't be forgotten: \(error)", metadata: ["app": "\(app)"])
      }
      await Task.yield()
    }
  }
}
