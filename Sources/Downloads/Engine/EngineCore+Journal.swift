internal import AssetModel
internal import Basics

/// A journal that can't be read or written: nothing that is fetched meanwhile could be remembered, and what is asked for
/// waits.
extension EngineCore {
  static let journalDelay: Duration = .seconds(30)

  func holdForJournal(_ entry: Scheduler.Entry, _ error: any Error) {
    hold(entry, .journal(error), until: clock.boot + Self.journalDelay)
  }

  /// What was decided of a job counts: it is committed as soon as that works.
  func holdUpdate(_ record: JobRecord, _ failure: any Error, _ disposition: Disposition) {
    holdForJournal(entry(of: record), failure)
    pendingUpdates[record.id] = PendingUpdate(record: record, disposition: disposition)
    guard isClosing else { return }
    events.send(.note(record.id, "the journal doesn't have what became of it last: \(Printable.text("\(failure)"))"))
  }

  /// Whether the job goes on waiting. A commit comes first: what is transferred before one works is transferred again.
  /// One commit tries it for all that wait, and no other one is asked for before it came back: a journal that takes its
  /// time would fall ever further behind.
  func stillWaitsForJournal(_ hold: Hold) -> Bool {
    guard hold.reason.isOfJournal else { return false }
    holds[hold.entry.id]?.until = nil
    guard !isTryingJournal else { return true }
    isTryingJournal = true
    let mailbox = mailbox
    journal.rewrite(hold.entry.id) { isWritten in mailbox.post { $0.triedJournal(isWritten) } }
    return true
  }

  private func triedJournal(_ isWritten: Bool) {
    isTryingJournal = false
    let now = clock.boot
    if isWritten { deferred.retryNow(now) }
    for (id, hold) in holds.sorted(by: { $0.key < $1.key }) where hold.reason.isOfJournal {
      if isWritten {
        release(id)
      } else if hold.until == nil {
        holds[id]?.until = now + Self.journalDelay
        due.push((now + Self.journalDelay, id, hold.serial))
      }
    }
  }

  // MARK: Commands whose job can't be looked up

  func deferCommand(_ command: JobCommand, on id: JobID, _ error: any Error) {
    if case .supersede(let supersession) = command { return reply(to: supersession, .failure(error)) }
    let why = "the journal can't be read: \(Printable.text("\(error)"))"
    guard !isClosing else { return events.send(.note(id, "\(command.name): not carried out, because \(why)")) }
    events.send(.note(id, "\(command.name): waits, because \(why)"))
    deferred.append(command, for: id, because: .journal(error), retryAt: clock.boot + Self.journalDelay)
  }

  func performDeferred(_ now: Duration, isLast: Bool = false) {
    guard let moment = deferred.retryAt, isLast || moment <= now else { return }
    for (id, queue) in deferred.takeAll() {
      // After the first that fails, the journal isn't asked again for each of the others.
      guard deferred.retryAt == nil else {
        deferred.put(queue, for: id)
        continue
      }
      perform(queue, on: id)
    }
    needsSchedule = true
  }
}
