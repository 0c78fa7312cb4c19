internal import AssetModel

/// Reads the journal for jobs that aren't running: on its own queue, all that is needed in one transaction, and a few ahead of
/// need. `JobReads` decides. Network thread only.
final class JobRecords: EnginePart {
  unowned let engine: TransferEngine
  var reads = JobReads()

  init(_ engine: TransferEngine) { self.engine = engine }

  /// A job has a slot: it starts at once where its record is known, or when it was read.
  func start(_ entry: Scheduler.Entry, _ now: Duration) {
    let record = reads.start(entry)
    if let record { engine.start(entry, record, now) }
    if reads.wantsMore(of: engine.scheduler.waitingCount, isMissing: record == nil) {
      reads.readAhead(engine.scheduler.upcoming(like: entry, atMost: JobReads.ahead))
    }
  }

  /// The record of a job that was just added and isn't in the queue yet. It is remembered where it will be among the next:
  /// where all that wait are known. Otherwise it would take the place of those.
  func added(_ record: JobRecord) {
    if engine.scheduler.waitingCount <= reads.known.count { reads.know(record) }
  }

  /// Asks the journal for what is needed by now. Once in each turn of the loop.
  func ask() {
    let ids = reads.takeWanted()
    guard !ids.isEmpty else { return }
    let mailbox = mailbox
    let read: @Sendable (any DownloadJournal) throws -> [JobRecord] = { try $0.jobs(ids) }
    journal.read(read) { mailbox.post(.control(.recordsRead(ids, $0))) }
  }
}
