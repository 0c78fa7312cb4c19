internal import Synchronization

/// Work for the network thread, from any other.
final class Mailbox: Sendable {
  typealias Message = @Sendable (TransferEngine) -> Void

  /// nil: the network thread has ended.
  private let messages = Mutex<[Message]?>([])
  private let waker: any Waker

  init(_ waker: any Waker) { self.waker = waker }

  /// Whether the message will be read.
  @discardableResult
  func post(_ message: @escaping Message) -> Bool {
    let count = messages.withLock { messages in
      messages?.append(message)
      return messages?.count
    }
    if count == 1 { waker.wake() }
    return count != nil
  }

  func take() -> [Message] {
    messages.withLock { messages in
      defer { if messages != nil { messages = [] } }
      return messages ?? []
    }
  }

  /// Takes the last messages; none is accepted from now on.
  func close() -> [Message] {
    messages.withLock { messages in
      defer { messages = nil }
      return messages ?? []
    }
  }
}
