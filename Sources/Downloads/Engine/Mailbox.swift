internal import Synchronization

/// Work for the network thread, from any other.
final class Mailbox: Sendable {
  typealias Letter = @Sendable (EngineCore) -> Void

  private let letters = Mutex<[Letter]>([])
  private let waker: any Waker

  init(_ waker: any Waker) { self.waker = waker }

  func post(_ letter: @escaping Letter) {
    let isFirst = letters.withLock { letters in
      letters.append(letter)
      return letters.count == 1
    }
    if isFirst { waker.wake() }
  }

  func take() -> [Letter] {
    letters.withLock { letters in
      defer { letters = [] }
      return letters
    }
  }
}
