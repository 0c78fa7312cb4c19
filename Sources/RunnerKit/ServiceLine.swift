internal import Glibc
internal import HostProtocol
internal import Synchronization

/// The plugin's end of the service channel. Any thread may ask. A request for exclusive control may wait for as long as the
/// other side has it, so several requests can be open: the thread that asked first reads, and hands the others their answers.
///
/// @unchecked Sendable: `state` is guarded by `mutex`, `incoming` belongs to the one thread for which `isReading` is set.
final class ServiceLine: @unchecked Sendable {
  static let shared = ServiceLine(Runner.service)

  private struct State {
    var nextID: UInt64 = 1
    var isReading = false
    /// The host is gone, or sent an answer without a question.
    var isBroken = false
    var open: Set<UInt64> = []
    var replies: [UInt64: ServiceReply] = [:]
  }

  private let outgoing: Mutex<Channel>
  /// All but exclusive control is asked one at a time: the host takes a second question before the answer for a forged one.
  private let turn = Mutex(())
  private var incoming: Channel
  private var state = State()
  // On the heap: both have to stay where they are.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init(_ descriptor: Int32) {
    outgoing = Mutex(Channel(descriptor))
    incoming = Channel(descriptor)
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    pthread_cond_destroy(changed)
    mutex.deallocate()
    changed.deallocate()
  }

  func tell(_ request: ServiceRequest) { _ = send(request.frame(id: 0)) }

  /// Blocks until the host has answered; nil when it can't any more.
  func ask(_ request: ServiceRequest) -> ServiceReply? {
    if case .acquireExclusiveControl = request { return exchange(request) }
    return turn.withLock { _ in exchange(request) }
  }

  private func exchange(_ request: ServiceRequest) -> ServiceReply? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    let id = state.nextID
    state.nextID += 1
    state.open.insert(id)
    defer { state.open.remove(id) }
    pthread_mutex_unlock(mutex)
    let isSent = send(request.frame(id: id))
    pthread_mutex_lock(mutex)
    guard isSent else { return nil }
    while true {
      if let reply = state.replies.removeValue(forKey: id) { return reply }
      if state.isBroken { return nil }
      if state.isReading { pthread_cond_wait(changed, mutex) } else { readOne() }
    }
  }

  /// Called and returns with the mutex.
  private func readOne() {
    state.isReading = true
    pthread_mutex_unlock(mutex)
    let frame = try? incoming.receive()
    pthread_mutex_lock(mutex)
    state.isReading = false
    if let frame, state.open.contains(frame.id), let reply = try? ServiceReply(frame) {
      state.replies[frame.id] = reply
    } else {
      state.isBroken = true
    }
    pthread_cond_broadcast(changed)
  }

  private func send(_ frame: Frame) -> Bool { outgoing.withLock { $0.send(frame) } }
}
