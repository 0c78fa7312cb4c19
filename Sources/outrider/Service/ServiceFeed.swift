internal import Foundation
internal import ServiceClient
internal import ServiceProtocol

/// What a live view is fed with: what there is now, then every change, across restarts of the service.
struct ServiceFeed: Sendable {
  enum Item: Sendable {
    /// The answers to the questions, in their order, each time that a connection is made; what was known before is void.
    case snapshot([Reply])
    case change(WatchEvent)
    /// The service has gone away, or the view couldn't keep up.
    case lost
    /// Without an answer there is nothing to show.
    case failed(any Error)
  }

  var place: ServicePlace
  /// nil: all.
  var app: String?
  var questions: [ClientRequest]
  /// Seconds after which a service that has gone away is started again; nil: that is left to others.
  var restartsAfter: Duration?

  /// More than these that haven't been taken begin a connection anew, with another snapshot.
  private static let maxWaiting = 1 << 14

  /// Ends with `failed`, or when its reader has gone.
  func items() -> AsyncStream<Item> {
    AsyncStream(bufferingPolicy: .bufferingOldest(Self.maxWaiting)) { continuation in
      let task = Task {
        do {
          var isFirst = true
          while true {
            try await follow(continuation, isFirst: isFirst)
            isFirst = false
            continuation.yield(.lost)
          }
        } catch {
          continuation.yield(.failed(error))
          continuation.finish()
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// One connection, to its end.
  private func follow(_ continuation: AsyncStream<Item>.Continuation, isFirst: Bool) async throws {
    let (ends, ended) = AsyncStream.makeStream(of: Void.self)
    let handlers = ServiceSession.Handlers(
      onMessage: { message in
        guard case .event(let event) = message else { return }
        if case .dropped = continuation.yield(.change(event)) { ended.finish() }
      },
      onClose: { _ in ended.finish() })
    let service = try await connect(handlers, isFirst: isFirst)
    defer { service.session.close() }
    do {
      // First, so that nothing happens between the answers and the first change.
      _ = try await service.ask(.watch(app: app))
      let answers = Answers(count: questions.count) { continuation.yield(.snapshot($0)) }
      try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
        answers.waiter = waiter
        // On the reading thread, so that answers and changes stay in their order.
        for (index, question) in questions.enumerated() {
          service.session.request(question) { answers.take($0, index) }
        }
      }
    } catch let failure as ServiceFailure where failure.isEndOfConnection {
      return
    }
    for await _ in ends {}
    try Task.checkCancellation()
  }

  private func connect(_ handlers: ServiceSession.Handlers, isFirst: Bool) async throws -> ServiceOperator {
    if isFirst { return try await ServiceOperator.connect(place, handlers: handlers) }
    let lost = ContinuousClock.now
    while true {
      do {
        return try await ServiceOperator.connectRunning(place, handlers: handlers)
      } catch let error as ServiceConnectionError where error.isServiceAbsent {
      } catch let failure as ServiceFailure where failure.isEndOfConnection {
      }
      if let restartsAfter, ContinuousClock.now - lost > restartsAfter {
        return try await ServiceOperator.connect(place, handlers: handlers)
      }
      try await Task.sleep(for: .milliseconds(100))
    }
  }

  /// Collects the answers of one connection.
  ///
  /// @unchecked Sendable: `waiter` is set before the first question; the rest is touched on the reading thread, or, where the
  /// connection has ended, by the thread that asks, before that returns.
  private final class Answers: @unchecked Sendable {
    var waiter: CheckedContinuation<Void, any Error>?
    private var replies: [Reply?]
    private let lock = NSLock()
    private let done: @Sendable ([Reply]) -> Void

    init(count: Int, done: @escaping @Sendable ([Reply]) -> Void) {
      replies = Array(repeating: nil, count: count)
      self.done = done
    }

    func take(_ result: Result<Reply, ServiceFailure>, _ index: Int) {
      lock.withLock {
        switch result {
        case .failure(let failure):
          waiter?.resume(throwing: failure)
          waiter = nil
        case .success(let reply):
          replies[index] = reply
          let all = replies.compactMap(\.self)
          guard all.count == replies.count else { return }
          done(all)
          waiter?.resume()
          waiter = nil
        }
      }
    }
  }
}
