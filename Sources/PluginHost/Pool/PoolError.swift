internal import LinuxSystem

/// Why a pool had no plugin to lend.
public enum PoolError: Error, Sendable, CustomStringConvertible {
  /// As many as may wait do so already.
  case full
  /// None was free for so long.
  case timedOut(after: Duration)
  /// The task was cancelled while it waited.
  case cancelled
  /// The pool was stopped.
  case stopped
  /// No plugin is there, and the last one that was loaded didn't come so far; the error says why.
  case loadFailed(HostError)

  init(_ refusal: PoolMachine.Refusal, _ failure: HostError, _ limit: Duration) {
    switch refusal {
    case .full: self = .full
    case .timedOut: self = .timedOut(after: limit)
    case .cancelled: self = .cancelled
    case .stopped: self = .stopped
    case .loadFailed: self = .loadFailed(failure)
    }
  }

  public var description: String {
    switch self {
    case .full: "every plugin of the pool is lent, and as many as may wait do so (maxWaiting)"
    case .timedOut(let limit): "no plugin of the pool was free for \(limit.formatted) (waitLimit)"
    case .cancelled: "the task was cancelled before the pool lent it a plugin"
    case .stopped: "the pool was stopped"
    case .loadFailed(let error): "the pool has no plugin: \(error.description)"
    }
  }
}
