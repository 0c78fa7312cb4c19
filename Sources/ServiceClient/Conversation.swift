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

  /// What one reading came to.
  private enum Reading {
    case message(ServiceMessage)
    /// The connection has ended; nothing comes after it.
    case end(ServiceConnectionError)
  }

  private struct State {
    var questions: [UInt64: Question] = [:]
    var lastID: UInt64 = 0
    var turns = ReadingTurns()
    /// What a caller has read that wasn't for it.
    var handedOver: [Reading] = []
    var end: ServiceConnectionError?
    /// Why the service didn't take the connection.
    var refusal: ServiceFailure?
  }

  let connection: ServiceConnection
  private let state = Mutex(State())
  private let pipe: WakePipe
  private let start = ContinuousClock.now

  init(_ connection: ServiceConnection) throws(ServiceConnectionError) {
    self.connection = connection
    do throws(WakePipe.Errno) { pipe = try WakePipe() } catch {
      throw connection.failure(.system(call: "pipe", errno: error.code))
    }
  }

  // MARK: Asking

  /// Calls back once: on the reading thread, or before this returns if the connection has ended.
  func ask(_ request: ClientRequest, _ completion: @escaping Completion) {
    let (id, failure, wakes): (UInt64, ServiceFailure?, Bool) = state.withLock { state in
      if let end = state.end { return (0, state.refusal ?? ServiceFailure(end), false) }
      let wakes = state.turns.expect()
      return (Self.add(completion, to: &state), nil, wakes)
    }
    if let failure { return completion(.failure(failure)) }
    if wakes { pipe.wake() }
    send(request, id)
  }

  /// Asks, and blocks until the answer, which the caller reads itself if it can.
  ///
  /// - Throws: `unanswered` after so many seconds; then the connection has ended.
  func askBlocking(_ request: ClientRequest, within seconds: Int?) throws(ServiceFailure) -> Reply {
    let waiter = Waiter()
    let (id, mayRead, wakes, failure): (UInt64, Bool, Bool, ServiceFailure?) = state.withLock { state in
      if let end = state.end { return (0, false, false, state.refusal ?? ServiceFailure(end)) }
      var (mayRead, wakes) = state.turns.beginCall(isHandedOver: !state.handedOver.isEmpty)
      if !mayRead { wakes = state.turns.expect() }
      return (Self.add({ waiter.complete($0) }, to: &state), mayRead, wakes, nil)
    }
    if let failure { throw failure }
    if wakes { pipe.wake() }
    let deadline = seconds.map { ContinuousClock.now + .seconds($0) }
    send(request, id)
    if mayRead { readAnswer(id, waiter, until: deadline) }
    guard let result = waiter.wait(until: deadline) else {
      connection.close()
      throw ServiceFailure(connection.failure(.unanswered(seconds: seconds ?? 0)))
    }
    return try result.get()
  }

  private static func add(_ completion: @escaping Completion, to state: inout State) -> UInt64 {
    state.lastID += 1
    state.questions[state.lastID] = Question(completion: completion)
    return state.lastID
  }

  private func send(_ request: ClientRequest, _ id: UInt64) {
    do throws(ServiceConnectionError) { try connection.send(.request(id: id, request: request)) } catch {
      // When the connection has ended, the thread that reads completes it: it knows the reason if the service gave one.
      if case .closed = error.reason { return }
      complete(id, .failure(ServiceFailure(error)))
    }
  }

  /// The thread that takes the question out of the table is the only one that answers it.
  private func complete(_ id: UInt64, _ result: Result<Reply, ServiceFailure>) {
    guard let question = state.withLock({ $0.questions.removeValue(forKey: id) }) else { return }
    question.completion(result.map { $0.merged(after: question.parts) })
  }

  // MARK: Reading as a caller

  /// Until the answer to `id` has come, or something else, which is the thread's to say: handlers aren't called by callers,
  /// who may hold what the handlers need.
  private func readAnswer(_ id: UInt64, _ waiter: Waiter, until deadline: ContinuousClock.Instant?) {
    var left: [Reading] = []
    reading: while !waiter.isComplete {
      let message: ServiceMessage?
      do throws(ServiceConnectionError) { message = try connection.receive(until: deadline) } catch {
        // Out of time: the thread goes on.
        if case .unanswered = error.reason { break }
        left = [.end(error)]
        break
      }
      switch message {
      case .reply(id, let reply)?: complete(id, .success(reply))
      case .failure(id, let failure)? where id != 0: complete(id, .failure(failure))
      case .part(id, let reply)?:
        do throws(ServiceConnectionError) { try keep(reply, of: id) } catch {
          left = [.end(error)]
          break reading
        }
      case let other?:
        left = [.message(other)]
        break reading
      case nil:
        left = [.end(connection.failure(.closed))]
        break reading
      }
    }
    if case .end? = left.last {} else { left += buffered() }
    let wakes = state.withLock { state in
      state.handedOver += left
      return state.turns.endCall(
        at: now, isWaitedFor: !state.handedOver.isEmpty || !state.questions.isEmpty)
    }
    if wakes { pipe.wake() }
  }

  /// What has come behind the last message that was looked at: the socket won't tell of it again.
  private func buffered() -> [Reading] {
    var all: [Reading] = []
    do throws(ServiceConnectionError) {
      while let message = try connection.buffered() { all.append(.message(message)) }
    } catch { all.append(.end(error)) }
    return all
  }

  private var now: Int64 { Int64(start.duration(to: .now) / .milliseconds(1)) }

  // MARK: Reading as the thread

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
    while true {
      let (step, handedOver) = state.withLock { state in
        let step = state.turns.next(at: now, isHandedOver: !state.handedOver.isEmpty)
        guard step == .takeOver else { return (step, [Reading]()) }
        defer { state.handedOver = [] }
        return (step, state.handedOver)
      }
      let readings: [Reading]
      switch step {
      case .pauseReading(let milliseconds):
        _ = pipe.wait(for: nil, atMost: milliseconds)
        continue
      case .watch:
        guard pipe.wait(for: connection.descriptor, atMost: nil), state.withLock({ $0.turns.beginReading() }) else {
          continue
        }
        readings = available()
      case .takeOver: readings = handedOver
      }
      for reading in readings {
        switch reading {
        case .message(let message):
          do throws(ServiceConnectionError) { try take(message, handlers) } catch { return end(error, handlers) }
        case .end(let error): return end(error, handlers)
        }
      }
    }
  }

  private func available() -> [Reading] {
    do throws(ServiceConnectionError) {
      guard try connection.fill() else { return buffered() + [.end(connection.failure(.closed))] }
    } catch { return buffered() + [.end(error)] }
    return buffered()
  }

  private func take(
    _ message: ServiceMessage, _ handlers: ServiceSession.Handlers
  ) throws(ServiceConnectionError) {
    switch message {
    case .reply(let id, let reply): complete(id, .success(reply))
    case .failure(0, let failure): state.withLock { $0.refusal = failure }
    case .failure(let id, let failure): complete(id, .failure(failure))
    case .part(let id, let reply): try keep(reply, of: id)
    case .notify, .call, .withdraw, .event: handlers.onMessage(message)
    }
  }

  private func end(_ error: ServiceConnectionError, _ handlers: ServiceSession.Handlers) {
    connection.close()
    let (unanswered, refusal) = state.withLock { state in
      state.end = error
      defer { state.questions = [:] }
      return (state.questions.values.map(\.completion), state.refusal)
    }
    for completion in unanswered { completion(.failure(refusal ?? ServiceFailure(error))) }
    handlers.onClose(error)
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
