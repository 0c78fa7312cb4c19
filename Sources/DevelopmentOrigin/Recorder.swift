internal import Synchronization

/// Every request so far, and who waits for the next.
final class Recorder: Sendable {
  private struct Waiter {
    let number: Int
    let count: Int
    let continuation: CheckedContinuation<Void, Never>
  }
  private struct State {
    var requests: [RecordedRequest] = []
    var total = 0
    var perPath: [String: Int] = [:]
    var waiters: [Waiter] = []
    var nextWaiter = 0
    var isStopped = false
  }
  /// A client that asks for that many different paths is a scanner; the counts start anew.
  private static let maxPaths = 1 << 17

  private let state = Mutex(State())
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// Numbers a request and keeps it.
  func add(_ request: RecordedRequest, connection: Int) -> RecordedRequest {
    var request = request
    request.connection = connection
    let woken = state.withLock { state in
      if state.perPath.count >= Self.maxPaths { state.perPath = [:] }
      request.number = state.total
      request.nth = state.perPath[request.path, default: 0] + 1
      state.perPath[request.path] = request.nth
      state.total += 1
      if state.requests.count < limit { state.requests.append(request) }
      let woken = state.waiters.filter { $0.count <= state.total }
      state.waiters.removeAll { $0.count <= state.total }
      return woken
    }
    for waiter in woken { waiter.continuation.resume() }
    return request
  }

  var all: [RecordedRequest] { state.withLock { $0.requests } }
  var total: Int { state.withLock { $0.total } }

  func reset() {
    state.withLock {
      $0.requests = []
      $0.total = 0
      $0.perPath = [:]
    }
  }

  /// Returns when there are `count` requests, when the time is over, or when the origin stops; says whether there are.
  func wait(count: Int, within limit: Duration) async -> Bool {
    let number = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    let timer = Task.detached {
      try? await Task.sleep(for: limit)
      self.wake { $0.number == number }
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.total >= count || state.isStopped || Task.isCancelled { return true }
          state.waiters.append(Waiter(number: number, count: count, continuation: continuation))
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      self.wake { $0.number == number }
    }
    timer.cancel()
    return total >= count
  }

  func stop() {
    state.withLock { $0.isStopped = true }
    wake { _ in true }
  }

  private func wake(_ isMeant: (Waiter) -> Bool) {
    let woken = state.withLock { state in
      let woken = state.waiters.filter(isMeant)
      state.waiters.removeAll(where: isMeant)
      return woken
    }
    for waiter in woken { waiter.continuation.resume() }
  }
}
