internal import LinuxSystem
internal import Logging

/// Holds what needs a journal that can't be read, and has it tried again.
final class JournalRetry {
  typealias Body = (PostponedWork.Subject, PostponedWork.Item) async throws(UnreadableJournal) -> Void

  private var work = PostponedWork()
  private var isAtWork = false
  private let timer: ServiceTimer
  private let thread: ServiceThread
  private let logger: Logger

  init(timer: ServiceTimer, thread: ServiceThread, logger: Logger) {
    self.timer = timer
    self.thread = thread
    self.logger = logger
  }

  var isEmpty: Bool { work.isEmpty }

  func isWaiting(_ subject: PostponedWork.Subject) -> Bool { work.isWaiting(subject) }

  func postpone(_ item: PostponedWork.Item, of subject: PostponedWork.Subject, _ error: UnreadableJournal) {
    follow(item, of: subject)
    report(error)
    arm()
  }

  /// Behind what waits of that subject already.
  func follow(_ item: PostponedWork.Item, of subject: PostponedWork.Subject) { work.add(item, of: subject) }

  /// Does `body` now, or postpones `item`, which does the same.
  func attempt(
    _ item: PostponedWork.Item, of key: Transfers.Key, _ body: () throws(UnreadableJournal) -> Void
  ) {
    do { try body() } catch { postpone(item, of: .download(key), error) }
  }

  func tryAgain(_ body: Body) async {
    if isAtWork { return }
    isAtWork = true
    let round = work.takeRound()
    var (failures, tried, hasDone) = (0, 0, false)
    for subject in round where failures < PostponedWork.maxFailures {
      tried += 1
      while let item = work.takeFirst(of: subject) {
        do {
          try await body(subject, item)
          (failures, hasDone) = (0, true)
        } catch {
          work.putBack(item, of: subject)
          report(error)
          failures += 1
          break
        }
      }
    }
    isAtWork = false
    if work.endRound(left: round.dropFirst(tried), hasDone: hasDone) {
      logger.notice("the journal can be read again, and what waited for that is done")
    }
    arm()
  }

  private func report(_ error: UnreadableJournal) {
    if work.failed() { logger.critical("what needs the journal waits until it can be read: \(error)") }
  }

  private func arm() {
    timer.set(at: work.isEmpty ? nil : BootClock.now + work.delay) { [thread] in
      thread.later { await $0.parts.executor.tryPostponed() }
    }
  }

  func end() { timer.set(at: nil) {} }
}
