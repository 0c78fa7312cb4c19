internal import Synchronization

/// Messages to the network thread, from any other, in the order in which they were sent.
final class Mailbox: Sendable {
  /// nil: the network thread has ended.
  private let messages = Mutex<[EngineMessage]?>([])
  private let waker: any Waker

  init(_ waker: any Waker) { self.waker = waker }

  /// Whether the message will be read.
  @discardableResult
  func post(_ message: EngineMessage) -> Bool {
    let count = messages.withLock { messages in
      messages?.append(message)
      return messages?.count
    }
    if count == 1 { waker.wake() }
    return count != nil
  }

  /// Asks the engine, and waits for what it answers.
  ///
  /// - Throws: `EngineClosed`, or what the engine answers with.
  func ask<Value: Sendable>(_ request: (EngineReply<Value>) -> EngineRequest) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let reply = EngineReply(continuation)
      if !post(.request(request(reply))) { reply.refuse() }
    }
  }

  func take() -> [EngineMessage] {
    messages.withLock { messages in
      defer { if messages != nil { messages = [] } }
      return messages ?? []
    }
  }

  /// Takes the last messages; none is accepted from now on.
  func close() -> [EngineMessage] {
    messages.withLock { messages in
      defer { messages = nil }
      return messages ?? []
    }
  }
}
