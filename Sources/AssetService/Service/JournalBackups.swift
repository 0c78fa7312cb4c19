internal import AssetStore
internal import LinuxSystem
internal import Logging

/// Has the journal copied while the service runs, so that its last backup says what happened lately, however long ago the
/// service started.
final class JournalBackups {
  struct Pace {
    /// From the first change that no backup has until it is to be copied. With no change there is nothing to do.
    var interval = Duration.seconds(3600)
    /// After so long it is looked again whether nothing is under way.
    var again = Duration.seconds(60)
    /// So old a change is copied whatever is under way.
    var longest = Duration.seconds(86_400)
  }

  var pace = Pace()
  private let store: AssetStore
  private let thread: ServiceThread
  private let timer: ServiceTimer
  private let logger: Logger
  /// Since when there is a change that no backup has.
  private var changed: Duration?

  init(store: AssetStore, thread: ServiceThread, timer: ServiceTimer, logger: Logger) {
    self.store = store
    self.thread = thread
    self.timer = timer
    self.logger = logger
  }

  /// Called after everything that may have changed the journal.
  func journalMayHaveChanged() {
    guard changed == nil else { return }
    let now = BootClock.now
    changed = now
    look(at: now + pace.interval)
  }

  private func look(at due: Duration) {
    timer.set(at: due) { [thread] in thread.service?.assumeIsolated { $0.backUpIfQuiet() } }
  }

  /// `isQuiet`: nothing is under way that a copy of the journal would slow down.
  func backUp(isQuiet: Bool) {
    guard let since = changed else { return }
    let now = BootClock.now
    guard isQuiet || now - since >= pace.longest else { return look(at: now + pace.again) }
    // What changes from here on may not be in it.
    changed = nil
    Task.detached { [store, logger] in
      do { try store.backUpIfDue() } catch {
        logger.error("the journal has no new backup: \(error)", metadata: ["journal": "\(store.path)"])
      }
    }
  }

  func end() { timer.set(at: nil) {} }
}
