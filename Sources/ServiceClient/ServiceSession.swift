package import ServiceProtocol

/// A conversation with the service: requests and their replies, and everything else that the service says.
///
/// Has a thread of its own that reads. Safe to use from any thread. Every pending call ends with the connection: with a failure
/// of `BAErrorDomain` 56. The connection ends when the last reference to the session goes.
package final class ServiceSession: Sendable {
  package struct Handlers: Sendable {
    /// Calls, events and watch events, in their order, on the reading thread. Nothing else is read while it runs: it must
    /// not wait for a reply of this session.
    package var onMessage: @Sendable (ServiceMessage) -> Void
    /// Called once, on the reading thread, after every request that was under way has failed.
    package var onClose: @Sendable (ServiceConnectionError) -> Void

    package init(
      onMessage: @escaping @Sendable (ServiceMessage) -> Void = { _ in },
      onClose: @escaping @Sendable (ServiceConnectionError) -> Void = { _ in }
    ) {
      self.onMessage = onMessage
      self.onClose = onClose
    }
  }

  private let conversation: Conversation

  /// Begins to read.
  package init(_ connection: ServiceConnection, handlers: Handlers = Handlers()) throws(ServiceConnectionError) {
    conversation = try Conversation(connection)
    try conversation.startReading(handlers)
  }

  deinit { conversation.connection.close() }

  /// Asks, and waits without occupying a thread. Lists that came in parts arrive as one.
  package func request(_ request: ClientRequest) async throws(ServiceFailure) -> Reply {
    let result = await withCheckedContinuation { continuation in
      conversation.ask(request) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// Asks, and blocks the thread until the reply or the end of the connection. Not for the tasks of Swift concurrency.
  ///
  /// - Parameter seconds: How long the service may take; then the connection is ended, since whether the request was
  ///   carried out isn't known. nil: as long as the connection lasts.
  package func requestBlocking(_ request: ClientRequest, within seconds: Int? = nil) throws(ServiceFailure) -> Reply {
    try conversation.askBlocking(request, within: seconds)
  }

  /// Asks, and calls back once: on the reading thread, or before this returns if the connection has ended.
  package func request(_ request: ClientRequest, reply: @escaping @Sendable (Result<Reply, ServiceFailure>) -> Void) {
    conversation.ask(request, reply)
  }

  /// Answers a call. The answer of a connection that has ended counts for nothing, so that failing isn't reported.
  package func answer(_ call: UInt64, _ answer: DelegateAnswer) {
    try? conversation.connection.send(.answer(call: call, answer: answer))
  }

  /// Whether the connection has ended. A request that failed for that finds it true.
  package var isClosed: Bool { conversation.connection.isClosed }

  /// Ends the conversation; pending calls fail.
  package func close() { conversation.connection.close() }
}

extension ServiceSession {
  /// A session whose other messages are an asynchronous sequence, which ends with the connection.
  ///
  /// More than `limit` unread messages end the connection: leaving some out would make the rest wrong.
  package static func reading(
    _ connection: ServiceConnection, limit: Int = 1 << 14
  ) throws(ServiceConnectionError) -> (
    session: ServiceSession, messages: AsyncThrowingStream<ServiceMessage, any Error>
  ) {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: ServiceMessage.self, throwing: (any Error).self, bufferingPolicy: .bufferingOldest(limit))
    let handlers = Handlers(
      onMessage: { message in
        guard case .dropped = continuation.yield(message) else { return }
        continuation.finish(throwing: ServiceFailure(connection.failure(.overrun(messages: limit))))
        connection.close()
      },
      onClose: { error in
        if case .closed = error.reason { continuation.finish() } else { continuation.finish(throwing: error) }
      })
    return (try ServiceSession(connection, handlers: handlers), stream)
  }
}

extension ServiceFailure {
  /// What a request gets that the connection didn't carry: 56.
  package init(_ error: ServiceConnectionError) {
    self = .framework(56, error.message, remedy: error.remedy)
  }
}
