internal import AssetModel

/// A journal that can't be written: nothing that is fetched meanwhile could be remembered.
extension EngineCore {
  static let journalDelay: Duration = .seconds(30)

  func holdForJournal(_ entry: Scheduler.Entry, _ error: any Error) {
    hold(entry, .journal(error), until: clock.boot + Self.journalDelay)
  }

  /// Whether the job goes on waiting. A commit comes first: what is transferred before one works is transferred again.
  func stillWaitsForJournal(_ hold: Hold, _ now: Duration) -> Bool {
    guard case .journal = hold.reason else { return false }
    let (id, serial, mailbox) = (hold.entry.id, hold.serial, mailbox)
    holds[id]?.until = now + Self.journalDelay
    due.push((now + Self.journalDelay, id, serial))
    journal.rewrite(id) { isWritten in
      mailbox.post { core in
        if isWritten, core.holds[id]?.serial == serial { core.release(id) }
      }
    }
    return true
  }
}
