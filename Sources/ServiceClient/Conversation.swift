internal import Glibc
internal import ServiceProtocol
internal import Synchronization

/// What a session and its reading thread share. The thread keeps this and not the session, whose end ends the thread.
final class Conversation: Sendable {
  typealias Completion = @Sendable (Result<Reply, ServiceFailure>) -> Void

  /// Parts of one list: a service that never comes to an end is cut off.
  static let maxParts = 1024

  private struct Question {
    var completion: Completion
    var parts: [Reply] = []
  }

  private struct State {
    var questions: [UInt64: Question] = [:]
    var lastID: UInt64 = 0
    var end: ServiceConnectionError?
    /// Why the service didn't take the connection.
    var refusal: ServiceFailure?
  }

  let connection: ServiceConnection
  private let state = Mutex(State())

  init(_ connection: ServiceConnection) { self.connection = connection }

  func ask(_ request: ClientRequest, _ completion: @escaping Completion) {
    let (id, failure): (UInt64, ServiceFailure?) = state.withLock { state in
      if let end = state.end { return (0, state.refusal ?? ServiceFailure(end)) }
      state.lastID += 1
      state.questions[state.lastID] = Question(completion: completion)
      return (state.lastID, nil)
    }
    if let failure { return completion(.failure(failure)) }
    do throws(ServiceConnectionError) { try connection.send(.request(id: id, request: request)) } catch {
      // When the connection has ended, the thread that reads settles it: it knows the reason if the service gave one.
      if case .closed = error.reason { return }
      settle(id, .failure(ServiceFailure(error)))
    }
  }

  /// Whoever takes the question out of the table is the one that answers it.
  private func settle(_ id: UInt64, _ result: Result<Reply, ServiceFailure>) {
    guard let question = state.withLock({ $0.questions.removeValue(forKey: id) }) else { return }
    question.completion(result.map { $0.merged(after: question.parts) })
  }

  // MARK: Reading

  func startReading(_ handlers: ServiceSession.Handlers) throws(ServiceConnectionError) {
    let reader = Reader(conversation: self, handlers: handlers)
    let argument = Unmanaged.passRetained(reader)
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 1 << 20)
    // Signals are for the program's own threads. The new thread inherits the mask.
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    var thread = pthread_t()
    let result = pthread_create(
      &thread, &attributes,
      { argument in
        Unmanaged<Reader>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, argument.toOpaque())
    guard result == 0 else {
      argument.release()
      throw connection.failure(.system(call: "pthread_create", errno: result))
    }
  }

  fileprivate func read(_ handlers: ServiceSession.Handlers) {
    var end = connection.failure(.closed)
    do {
      while let message = try connection.receive() {
        switch message {
        case .reply(let id, let reply): settle(id, .success(reply))
        case .failure(0, let failure): state.withLock { $0.refusal = failure }
        case .failure(let id, let failure): settle(id, .failure(failure))
        case .part(let id, let reply): try keep(reply, of: id)
        case .notify, .call, .withdraw, .event: handlers.onMessage(message)
        }
      }
    } catch { end = error }
    connection.close()
    let (unanswered, refusal) = state.withLock { state in
      state.end = end
      defer { state.questions = [:] }
      return (state.questions.values.map(\.completion), state.refusal)
    }
    for completion in unanswered { completion(.failure(refusal ?? ServiceFailure(end))) }
    handlers.onClose(end)
  }

  private func keep(_ part: Reply, of id: UInt64) throws(ServiceConnectionError) {
    let count = state.withLock { state in
      state.questions[id]?.parts.append(part)
      return state.questions[id]?.parts.count ?? 0
    }
    guard count <= Self.maxParts else { throw connection.failure(.malformed("a list has more than \(count) parts")) }
  }

  private final class Reader: Sendable {
    let conversation: Conversation
    let handlers: ServiceSession.Handlers

    init(conversation: Conversation, handlers: ServiceSession.Handlers) {
      self.conversation = conversation
      self.handlers = handlers
    }

    func run() { conversation.read(handlers) }
  }
}
