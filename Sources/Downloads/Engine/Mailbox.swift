internal import Synchronization

/// Work for the network thread, from any other.
final class Mailbox: Sendable {
  typealias Letter = @Sendable (EngineCore) -> Void

  /// nil: the network thread has ended.
  private let letters = Mutex<[Letter]?>([])
  private let waker: any Waker

  init(_ waker: any Waker) { self.waker = waker }

  /// Whether the letter will be read.
  @discardableResult
  func post(_ letter: @escaping Letter) -> Bool {
    let count = letters.withLock { letters in
      letters?.append(letter)
      return letters?.count
    }
    if count == 1 { waker.wake() }
    return count != nil
  }

  func take() -> [Letter] {
    letters.withLock { letters in
      defer { if letters != nil { letters = [] } }
      return letters ?? []
    }
  }

  /// Takes the last letters; none is accepted from now on.
  func close() -> [Letter] {
    letters.withLock { letters in
      defer { letters = nil }
      return letters ?? []
    }
  }
}
