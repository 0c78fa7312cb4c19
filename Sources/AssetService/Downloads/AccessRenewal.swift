internal import AssetModel
internal import Downloads
internal import LinuxSystem
internal import Logging
internal import ServiceMachines
internal import ServiceProtocol

/// An access that expired in the middle of a download (401 or 403 at a resume): the extension is asked once for another
/// request of the same identifier, and the download goes on from the bytes that are there.
final class AccessRenewal {
  private let decider: Decider
  private let downloads: DownloadTable
  private let transfers: Transfers
  private let plan: TransferPlan
  private let news: ServiceNews
  private let thread: ServiceThread
  private let timer: ServiceTimer
  private let retry: JournalRetry
  private let logger: Logger
  private var awaited = FreshAnswers()

  init(
    decider: Decider, downloads: DownloadTable, transfers: Transfers, plan: TransferPlan, news: ServiceNews,
    thread: ServiceThread, timer: ServiceTimer, retry: JournalRetry, logger: Logger
  ) {
    self.decider = decider
    self.downloads = downloads
    self.transfers = transfers
    self.plan = plan
    self.news = news
    self.thread = thread
    self.timer = timer
    self.retry = retry
    self.logger = logger
  }

  /// Whether no recipient is told of `failure` for now, because another request is asked for or is there already.
  func asks(_ app: String, _ unique: String, _ record: JobRecord, _ failure: TransferFailure) -> Bool {
    guard failure.isRefusedAccess, let download = downloads[app]?[unique], let entry = download.entry, !entry.isManifest
    else { return false }
    if download.isDiscarded { return false }
    if download.hasFreshAnswer, !entry.isCancelling, differs(record.specification, from: download.value) {
      // The service died between the answer and the engine's journal.
      resumeLater(app, unique)
      return true
    }
    guard !download.hasFreshAnswer, !entry.isCancelling, record.leftover != nil else { return false }
    guard awaited.insert(unique, of: app, failure, until: BootClock.now + Self.longestWait) else { return true }
    arm()
    news.log(app, "expired", "\(Printable.text(download.value.identifier)): \(failure.detail)")
    downloads.change(app, unique) {
      $0.waiting = TransferWait(
        Explanation(
          .challenge, data: ["lastError": failure.detail], remedy: "the extension's next answer, which is asked for"))
    }
    decider.process(.app(app, .registry(.engineWaiting(uniqueIdentifier: unique))))
    decider.process(.app(app, .lifecycle(.accessExpired)))
    return true
  }

  /// The run that answers the request has its own limit; this is for a request that is never answered.
  private static let longestWait: Duration = .minutes(30)

  /// At the deadline of the download that has waited longest.
  private func arm() { timer.set(at: awaited.nextDeadline) { [weak self] in self?.giveUpOverdue() } }

  /// Whether `value`, which the extension answered, is another request for a download that waits for one.
  func take(_ value: DownloadValue, of app: String) -> Bool {
    for unique in awaited.uniqueIdentifiers(of: app) {
      guard var download = downloads[app]?[unique], download.entry != nil,
        download.value.identifier == value.identifier,
        download.value.applicationGroupIdentifier == value.applicationGroupIdentifier,
        ["", "GET"].contains(value.httpMethod), value.httpBody?.isEmpty ?? true,
        value.url != download.value.url || value.httpHeaders != download.value.httpHeaders
      else { continue }
      download.value.url = value.url
      download.value.httpHeaders = value.httpHeaders
      download.hasFreshAnswer = true
      do { try decider.write(download, of: app) } catch {
        logger.error("a fresh answer can't be written down: \(error)", metadata: ["app": "\(app)"])
        return false
      }
      downloads[app]?[unique] = download
      awaited.remove(unique, of: app)
      arm()
      resumeLater(app, unique)
      return true
    }
    return false
  }

  private func resumeLater(_ app: String, _ unique: String) {
    thread.later { await $0.parts.freshAnswers.resume(app, unique) }
  }

  /// The engine takes the new request over from what the old one left.
  func resume(_ app: String, _ unique: String) async {
    guard let download = downloads[app]?[unique], let entry = download.entry, !entry.isCancelling else { return }
    do {
      let specification = request(app, download.value, entry)
      let result = try await transfers.add([specification])[0]
      if let id = result.present, entry.isPaused { transfers.engine.pause(id) }
      decider.process(.app(app, .registry(result.event(specification))))
    } catch is EngineClosed {
      // The service stops: the next one finds it.
    } catch {
      let failure = Failure.framework(102, "the journal can't take it: \(error)")
      decider.process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: .failed(failure)))))
    }
  }

  /// No answer comes: the recipients are told what the download failed with.
  func giveUp(of app: String) {
    for (unique, failure) in awaited.takeAll(of: app) { tell(app, unique, failure) }
    arm()
  }

  private func giveUpOverdue() {
    if decider.isClosed { return }
    for (app, unique, failure) in awaited.takeOverdue(at: BootClock.now) { tell(app, unique, failure) }
    arm()
  }

  private func tell(_ app: String, _ unique: String, _ failure: TransferFailure) {
    let key = Transfers.Key(app: app, download: unique)
    retry.attempt(.release, of: key) { () throws(UnreadableJournal) in try transfers.cancel(key) }
    let settlement = Settlement.failed(Failure(failure.keepingNothing, isRestricted: false))
    decider.process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: settlement))))
  }

  private func differs(_ specification: DownloadSpecification, from value: DownloadValue) -> Bool {
    let headers = Dictionary(specification.headers.map { ($0.name, $0.value) }) { $1 }
    return specification.url != value.url || headers != value.httpHeaders
  }

  private func request(
    _ app: String, _ value: DownloadValue, _ entry: DownloadRegistry.Entry
  ) -> DownloadSpecification {
    let machines = decider.core.apps[app]
    return plan.specification(
      app, value, urgency: entry.urgency, owner: entry.owner, budget: machines?.budgets[value.uniqueIdentifier],
      domains: machines?.restrictions.isActive == true ? machines?.facts.limits.domains : nil)
  }
}
