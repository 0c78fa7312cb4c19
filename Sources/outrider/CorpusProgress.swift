internal import Glibc
internal import Synchronization

/// One line on a terminal that says how far a corpus is; nothing elsewhere.
final class CorpusProgress: Sendable {
  private let total: Int
  private let done = Mutex(0)
  private let isShown = Terminal.draws(on: STDERR_FILENO)

  init(total: Int) { self.total = total }

  func advance() {
    done.withLock { done in
      done += 1
      if isShown { Output.draw("\r\(done) of \(total)\u{1b}[K") }
    }
  }

  func end() { if isShown { Output.draw("\r\u{1b}[K") } }
}
