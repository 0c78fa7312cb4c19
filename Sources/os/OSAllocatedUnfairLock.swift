/// A lock with the state that it protects. Corresponds to Apple's `OSAllocatedUnfairLock`.
///
/// Copies share the lock. Not recursive.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  // @unchecked: the state is reached only with the mutex held.
  private let storage: Storage

  /// Whether the calling thread holds a lock. Corresponds to Apple's `OSAllocatedUnfairLock.Ownership`.
  public enum Ownership: Hashable, Sendable { case owner, notOwner }

  /// Creates a lock with a state that isn't `Sendable`. Corresponds to Apple's
  /// `OSAllocatedUnfairLock.init(uncheckedState:)`.
  public init(uncheckedState initialState: State) { storage = Storage(initialState) }

  /// Creates a lock with its state. Corresponds to Apple's `OSAllocatedUnfairLock.init(initialState:)`.
  public init(initialState: State) where State: Sendable { storage = Storage(initialState) }

  /// Creates a lock without a state. Corresponds to Apple's `OSAllocatedUnfairLock.init()`.
  public init() where State == Void { storage = Storage(()) }

  /// Runs a closure with the state while the lock is held. Corresponds to Apple's
  /// `OSAllocatedUnfairLock.withLockUnchecked(_:)`.
  public func withLockUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    storage.lock()
    defer { storage.unlock() }
    return try body(&storage.state)
  }

  /// Runs a closure with the state while the lock is held. Corresponds to Apple's
  /// `OSAllocatedUnfairLock.withLock(_:)`.
  public func withLock<Result: Sendable>(_ body: @Sendable (inout State) throws -> Result) rethrows -> Result {
    try withLockUnchecked(body)
  }

  /// Returns nil at once if the lock is held.
  /// Corresponds to Apple's `OSAllocatedUnfairLock.withLockIfAvailableUnchecked(_:)`.
  public func withLockIfAvailableUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result? {
    guard storage.tryLock() else { return nil }
    defer { storage.unlock() }
    return try body(&storage.state)
  }

  /// Returns nil at once if the lock is held.
  /// Corresponds to Apple's `OSAllocatedUnfairLock.withLockIfAvailable(_:)`.
  public func withLockIfAvailable<Result: Sendable>(
    _ body: @Sendable (inout State) throws -> Result
  ) rethrows -> Result? {
    try withLockIfAvailableUnchecked(body)
  }

  /// Ends the process unless the calling thread holds the lock, or doesn't, as stated.
  /// Corresponds to Apple's `OSAllocatedUnfairLock.precondition(_:)`.
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
  /// Takes the lock, and waits for it. Corresponds to Apple's `OSAllocatedUnfairLock.lock()`.
  @available(*, noasync, message: "Use withLock(_:): a task may resume on another thread")
  public func lock() { storage.lock() }

  /// Gives the lock back, on the thread that took it. Corresponds to Apple's `OSAllocatedUnfairLock.unlock()`.
  @available(*, noasync, message: "Use withLock(_:): a task may resume on another thread")
  public func unlock() { storage.unlock() }

  /// Takes the lock if it is free; true if it did. Corresponds to Apple's
  /// `OSAllocatedUnfairLock.lockIfAvailable()`.
  @available(*, noasync, message: "Use withLock(_:): a task may resume on another thread")
  public func lockIfAvailable() -> Bool { storage.tryLock() }

  /// Runs a closure while the lock is held. Corresponds to Apple's `OSAllocatedUnfairLock.withLockUnchecked(_:)`.
  public func withLockUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result {
    storage.lock()
    defer { storage.unlock() }
    return try body()
  }

  /// Runs a closure while the lock is held. Corresponds to Apple's `OSAllocatedUnfairLock.withLock(_:)`.
  public func withLock<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result {
    try withLockUnchecked(body)
  }
  /// Returns nil at once if the lock is held.
  /// Corresponds to Apple's `OSAllocatedUnfairLock.withLockIfAvailableUnchecked(_:)`.
  public func withLockIfAvailableUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result? {
    guard storage.tryLock() else { return nil }
    defer { storage.unlock() }
    return try body()
  }

  /// Returns nil at once if the lock is held.
  /// Corresponds to Apple's `OSAllocatedUnfairLock.withLockIfAvailable(_:)`.
  public func withLockIfAvailable<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result? {
    try withLockIfAvailableUnchecked(body)
  }
}
