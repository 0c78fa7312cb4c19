import Dispatch
internal import ServiceClient
internal import ServiceProtocol
import Synchronization

/// An app's link to the service: one connection at a time, made when it is first needed and again after it broke.
///
/// A request that is under way when the connection breaks fails with 56; the next one connects anew. While there is a
/// delegate, the link connects by itself, so that events go on after the service restarted.
final class ServiceLink: Sendable {
  static let shared = ServiceLink(dial: .shared)

  /// Seconds that the service may take for an answer; control is another matter.
  static let maxAnswerSeconds = 60
  private static let maxRetryMilliseconds = 10_000
  /// Milliseconds before each further greeting of a service that ended the connection instead of answering.
  private static let pausesBeforeGreetingAgain: [UInt32] = [20, 100, 300]
  /// Seconds after which none is sent any more.
  private static let maxGreetingSeconds = 5

  struct Established: Sendable {
    let number: UInt64
    let session: ServiceSession
    let containers: [String: String]
    /// What the service has been told on this connection.
    var isObserving = false
    var isActive = true
  }

  private struct State {
    var established: Established?
    var lastNumber: UInt64 = 0
    /// Connections up to this one have ended.
    var lastEnded: UInt64 = 0
    var isObserving = false
    var isActive = true
    var isConnecting = false
    var containers: [String: String]?
    var lastToken: UInt64 = 0
  }

  private let dial: ServiceDial
  private let state = Mutex(State())
  /// Held while a connection is made, so that there is one. Never taken by the thread that reads.
  private let connecting = Mutex(())
  /// Held while the service is told what it has to know before the next request.
  private let telling = Mutex(())
  private let queue = DispatchQueue(label: "BackgroundAssets.connection")
  let downloads = KnownDownloads()
  let control = ExclusiveControl()
  private let deliverySlot = Mutex<DelegateDelivery?>(nil)

  init(dial: ServiceDial) { self.dial = dial }

  /// Where the delegate is called.
  var delivery: DelegateDelivery {
    deliverySlot.withLock { slot in
      if let slot { return slot }
      let made = DelegateDelivery(
        downloads: downloads, answer: { [weak self] in self?.answer($0, $1) },
        delegateIsGone: { [weak self] in self?.setObserving(false) })
      slot = made
      return made
    }
  }

  // MARK: Requests

  /// Asks the service, and connects before if need be. Blocks.
  func request(_ request: ClientRequest, within seconds: Int? = maxAnswerSeconds) throws(ServiceFailure) -> Reply {
    let established = try connected()
    return try established.session.requestBlocking(request, within: seconds)
  }

  /// The connection, with everything said that comes before a request.
  func connected() throws(ServiceFailure) -> Established {
    let established = try establish()
    telling.withLock { _ in
      let (untold, wanted) = state.withLock { state in
        let told = state.established
        let wanted = (isObserving: state.isObserving, isActive: state.isActive)
        if told?.number == established.number {
          state.established?.isObserving = wanted.isObserving
          state.established?.isActive = wanted.isActive
        }
        return (told?.number == established.number ? told : nil, wanted)
      }
      guard let untold else { return }
      if untold.isActive != wanted.isActive {
        untold.session.request(.activate(isActive: wanted.isActive)) { _ in }
      }
      if untold.isObserving != wanted.isObserving {
        untold.session.request(.observe(isObserving: wanted.isObserving)) { _ in }
      }
    }
    return established
  }

  func newToken() -> UInt64 {
    state.withLock { state in
      state.lastToken += 1
      return state.lastToken
    }
  }

  /// The container of an app group, from what the service said last.
  func container(of group: String) -> String? {
    if let known = state.withLock({ $0.containers }) { return known[group] }
    return (try? connected())?.containers[group]
  }

  // MARK: What the app says of itself

  func setObserving(_ isObserving: Bool) { change { $0.isObserving = isObserving } }

  var isActive: Bool {
    get { state.withLock { $0.isActive } }
    set { change { $0.isActive = newValue } }
  }

  /// The caller, who may be on the main thread, doesn't wait. Before the next request the service is told in any case.
  private func change(_ body: (inout State) -> Void) {
    let isNews = state.withLock { state in
      body(&state)
      return state.isObserving || state.established != nil
    }
    if isNews { queue.async { self.keepUp() } }
  }

  // MARK: The connection

  private func establish() throws(ServiceFailure) -> Established {
    try connecting.withLock { (_) throws(ServiceFailure) in
      // A request that failed with its connection is over before `lost` is called: the next one mustn't meet it again.
      if let established = state.withLock({ $0.established }), !established.session.isClosed { return established }
      let (number, session, reply) = try greet()
      guard case .welcome(let welcome) = reply, welcome.version == Hello.currentVersion else {
        session.close()
        throw .framework(
          BAErrorCode.callerConnectionInvalid.rawValue, "the service speaks another version of the protocol",
          remedy: "build the app against the version of Outrider that runs, and restart the service")
      }
      let established = Established(number: number, session: session, containers: welcome.containers)
      let isOpen = state.withLock { state in
        state.containers = welcome.containers
        guard state.lastEnded < number else { return false }
        state.established = established
        return true
      }
      guard isOpen else {
        throw .framework(BAErrorCode.callerConnectionInvalid.rawValue, "the service closed the connection at once")
      }
      return established
    }
  }

  /// A service that is about to end still takes connections. One that ends before its greeting is answered has carried nothing
  /// out, and is made again.
  private func greet() throws(ServiceFailure) -> (number: UInt64, session: ServiceSession, reply: Reply) {
    var pauses = Self.pausesBeforeGreetingAgain[...]
    let deadline = ContinuousClock.now + .seconds(Self.maxGreetingSeconds)
    while true {
      let number = state.withLock { state in
        state.lastNumber += 1
        return state.lastNumber
      }
      let session = try openSession(number)
      do throws(ServiceFailure) {
        return (number, session, try session.requestBlocking(.hello(Hello(role: .app)), within: Self.maxAnswerSeconds))
      } catch {
        let hasEnded = session.isClosed
        session.close()
        guard hasEnded, ContinuousClock.now < deadline, let pause = pauses.popFirst() else { throw error }
        usleep(pause * 1000)
      }
    }
  }

  private func openSession(_ number: UInt64) throws(ServiceFailure) -> ServiceSession {
    do throws(ServiceConnectionError) {
      return try ServiceSession(try dial.connect(), handlers: handlers(of: number))
    } catch { throw ServiceFailure(error) }
  }

  private func handlers(of number: UInt64) -> ServiceSession.Handlers {
    .init(
      onMessage: { [weak self] in self?.received($0, on: number) }, onClose: { [weak self] _ in self?.lost(number) })
  }

  /// On the thread that reads, as `lost`.
  private func received(_ message: ServiceMessage, on number: UInt64) {
    let isAccepted =
      switch message {
      case .notify(let event): delivery.accept(event, call: nil)
      case .call(let call, let event): delivery.accept(event, call: .init(connection: number, number: call))
      case .withdraw(let call):
        {
          delivery.withdraw(.init(connection: number, number: call))
          return true
        }()
      case .reply, .part, .failure, .event: true
      }
    if !isAccepted { state.withLock { $0.established?.number == number ? $0.established : nil }?.session.close() }
  }

  private func lost(_ number: UInt64) {
    let wasEstablished = state.withLock { state in
      state.lastEnded = max(state.lastEnded, number)
      guard state.established?.number == number else { return false }
      state.established = nil
      return true
    }
    delivery.withdrawAll(of: number)
    // Callers that waited for this connection are told that it ended; each tries again within its time, or not at all.
    guard wasEstablished else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(Int.random(in: 10...50))) { [weak self] in self?.keepUp() }
  }

  private func answer(_ call: DelegateInbox.CallID, _ answer: DelegateAnswer) {
    let established = state.withLock { $0.established }
    guard let established, established.number == call.connection else { return }
    established.session.answer(call.number, answer)
  }

  // MARK: Keeping up

  /// Tells the service what is new; while there is a delegate, connects for that, again and again.
  private func keepUp() {
    let isNeeded = state.withLock { state in
      guard state.isObserving || state.established != nil, !state.isConnecting else { return false }
      state.isConnecting = true
      return true
    }
    if isNeeded { tryToKeepUp(attempt: 0) }
  }

  private func tryToKeepUp(attempt: Int) {
    do {
      _ = try connected()
      let isLostAgain = state.withLock { state in
        state.isConnecting = false
        return state.established == nil && state.isObserving
      }
      if isLostAgain { retry(attempt: attempt + 1) }
    } catch {
      // Who isn't an app to the service won't be one in a moment; the next call asks again.
      let isFinal =
        error.domain == ServiceFailure.frameworkDomain
        && error.code == BAErrorCode.callerConnectionNotAccepted.rawValue
      let retries = state.withLock { state in
        state.isConnecting = false
        return state.isObserving && !isFinal
      }
      if retries { retry(attempt: attempt + 1) }
    }
  }

  /// Growing delays with jitter, because a service that restarts has every app come back.
  private func retry(attempt: Int) {
    let isFirst = state.withLock { state in
      defer { state.isConnecting = true }
      return !state.isConnecting
    }
    guard isFirst else { return }
    let delay = min(Self.maxRetryMilliseconds, 50 << min(attempt, 10))
    queue.asyncAfter(deadline: .now() + .milliseconds(Int.random(in: delay / 2...delay))) { [weak self] in
      self?.tryToKeepUp(attempt: attempt)
    }
  }
}
