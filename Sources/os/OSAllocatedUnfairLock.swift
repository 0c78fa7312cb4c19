/// A lock with the state that it protects. Corresponds to Apple's `OSAllocatedUnfairLock`.
///
/// Copies share the lock. Not recursive.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  // @unchecked: the state is reached only with the mutex held.
  private let storage: Storage

  /// Whether the calling thread holds a lock. Corresponds to Apple's `OSAllocatedUnfairLock.Ownership`.
  public enum Ownership: Hashable, Sendable { case owner, notOwner }

  public init(uncheckedState initialState: State) { storage = Storage(initialState) }

  public init(initialState: State) where State: Sendable { storage = Storage(initialState) }

  public init() where State == Void { storage = Storage(()) }

  public func withLockUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    storage.lock()
    defer { storage.unlock() }
    return try body(&storage.state)
  }

  public func withLock<Result: Sendable>(_ body: @Sendable (inout State) throws -> Result) rethrows -> Result {
    try withLockUnchecked(body)
  }

  /// Returns nil at once if the lock is held.
  public func withLockIfAvailableUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result? {
    guard storage.tryLock() else { return nil }
    defer { storage.unlock() }
    return try body(&storage.state)
  }

  /// Returns nil at once if the lock is held.
  public func withLockIfAvailable<Result: Sendable>(
    _ body: @Sendable (inout State) throws -> Result
  ) rethrows -> Result? {
    try withLockIfAvailableUnchecked(body)
  }

  /// Ends the process unless the calling thread holds the lock, or doesn't, as stated.
  public func precondition(_ condition: Ownership) {
    Swift.precondition(storage.isHeldByThisThread == (condition == .owner), "the calling thread isn't \(condition)")
  }

  private final class Storage {
    var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init(_ state: State) {
      self.state = state
      mutex.initialize(to: pthread_mutex_t())
      pthread_mutex_init(mutex, nil)
    }

    func lock() { pthread_mutex_lock(mutex) }
    func unlock() { pthread_mutex_unlock(mutex) }
    func tryLock() -> Bool { pthread_mutex_trylock(mutex) == 0 }

    var isHeldByThisThread: Bool { os.isHeldByThisThread(mutex) }

    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
    }
  }
}

extension OSAllocatedUnfairLock where State == Void {
  @available(*, noasync, message: "Use withLock(_:): a task may resume on another thread")
  public func lock() { storage.lock() }

  @available(*, noasync, message: "Use withLock(_:): a task may resume on another thread")
  public func unlock() { storage.unlock() }

  @available(*, noasync, message: "Use withLock(_:): a task may resume on another thread")
  public func lockIfAvailable() -> Bool { storage.tryLock() }

  public func withLockUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result {
    storage.lock()
    defer { storage.unlock() }
    return try body()
  }

  public func withLock<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result {
    try withLockUnchecked(body)
  }
  /// Returns nil at once if the lock is held.
  public func withLockIfAvailableUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result? {
    guard storage.tryLock() else { return nil }
    defer { storage.unlock() }
    return try body()
  }

  /// Returns nil at once if the lock is held.
  public func withLockIfAvailable<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result? {
    try withLockIfAvailableUnchecked(body)
  }
}
