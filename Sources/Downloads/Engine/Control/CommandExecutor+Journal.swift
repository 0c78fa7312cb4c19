internal import AssetModel
internal import Basics
internal import LinuxSystem

/// Changes of jobs that aren't running, and a journal that can't be read or written: nothing that is fetched meanwhile could be
/// remembered, and what is asked for waits.
extension CommandExecutor {
  /// A job as it is by what was decided last and the journal couldn't take yet; nil: the journal has to be asked.
  func decidedRecord(_ id: JobID) -> JobRecord? { changes.pending[id]?.record }

  func commit(_ record: JobRecord) {
    let mailbox = mailbox
    journal.commit([.job(record)]) { failure in
      mailbox.post(.control(.change(.committed(record.id, failure.map(JournalFailure.init)))))
    }
  }

  /// What an activation ended with counts, and is committed as soon as that works.
  func keep(_ update: PendingUpdate, _ failure: JournalFailure) { handle(.notWritten(update, failure)) }

  static let journalDelay: Duration = .seconds(30)

  func holdForJournal(_ entry: Scheduler.Entry, _ error: any Error) {
    engine.hold(entry, .journal(error), until: clock.boot + Self.journalDelay)
  }

  func holdForJournal(_ record: JobRecord, _ failure: JournalFailure) {
    holdForJournal(engine.entry(of: record), failure.error)
    guard engine.isClosing, changes.pending[record.id] != nil else { return }
    events.send(.note(record.id, "the journal doesn't have what became of it last: \(Printable.text("\(failure)"))"))
  }

  /// Whether the job goes on waiting. A commit comes first: what is transferred before one works is transferred again.
  /// One commit tries it for all that wait, and no other one is asked for before it came back: a journal that takes its
  /// time would fall ever further behind.
  func stillWaitsForJournal(_ hold: Hold) -> Bool {
    guard hold.reason.isOfJournal else { return false }
    engine.holds[hold.entry.id]?.until = nil
    guard !isTryingJournal else { return true }
    isTryingJournal = true
    let mailbox = mailbox
    journal.rewrite(hold.entry.id) { mailbox.post(.control(.triedJournal(isWritten: $0))) }
    return true
  }

  func triedJournal(isWritten: Bool) {
    isTryingJournal = false
    let now = clock.boot
    if isWritten { deferred.retryNow(now) }
    for (id, hold) in engine.holds.sorted(by: { $0.key < $1.key }) where hold.reason.isOfJournal {
      if isWritten {
        engine.release(id)
      } else if hold.until == nil {
        engine.holds[id]?.until = now + Self.journalDelay
        engine.setDue(id, at: now + Self.journalDelay, hold.serial)
      }
    }
  }

  func deferCommand(_ command: JobCommand, on id: JobID, _ error: any Error) {
    if case .supersede(let supersession) = command { return additions.reply(to: supersession, .failure(error)) }
    let why = "the journal can't be read: \(Printable.text("\(error)"))"
    guard !engine.isClosing else { return events.send(.note(id, "\(command.name): not carried out, because \(why)")) }
    events.send(.note(id, "\(command.name): waits, because \(why)"))
    deferred.append(command, for: id, because: .journal(error), retryAt: clock.boot + Self.journalDelay)
  }

  func performDeferred(_ now: Duration, isLast: Bool = false) {
    guard let moment = deferred.retryAt, isLast || moment <= now else { return }
    // The journal is asked once for all of them.
    for (id, queue) in deferred.takeAll() { perform(queue, on: id) }
    engine.needsSchedule = true
  }
}
