// The names are those of Apple's os.
// swift-format-ignore-file: AlwaysUseLowerCamelCase, TypeNamesShouldBeCapitalized

// As Apple's os brings Darwin along.
@_exported public import Glibc

// Libraries that find this module with `#if canImport(os)` expect the lock here, without ever linking to it: a package's
// modules share one directory. So nothing below has a symbol of its own. The type is one of C, which a zero initializes,
// and the functions are emitted into the modules that call them.

/// A lock that lives where its owner puts it. Corresponds to Apple's `os_unfair_lock`.
public typealias os_unfair_lock = pthread_mutex_t
/// Corresponds to Apple's `os_unfair_lock_s`.
public typealias os_unfair_lock_s = pthread_mutex_t
/// Corresponds to Apple's `os_unfair_lock_t`.
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock>

/// Takes the lock, and waits for it (pthread_mutex_lock(3p)). Corresponds to Apple's `os_unfair_lock_lock`.
@_alwaysEmitIntoClient
public func os_unfair_lock_lock(_ lock: UnsafeMutablePointer<os_unfair_lock>) { pthread_mutex_lock(lock) }

/// Gives the lock back, on the thread that took it. Corresponds to Apple's `os_unfair_lock_unlock`.
@_alwaysEmitIntoClient
public func os_unfair_lock_unlock(_ lock: UnsafeMutablePointer<os_unfair_lock>) { pthread_mutex_unlock(lock) }

/// Takes the lock if it is free; true if it did. Corresponds to Apple's `os_unfair_lock_trylock`.
@_alwaysEmitIntoClient
public func os_unfair_lock_trylock(_ lock: UnsafeMutablePointer<os_unfair_lock>) -> Bool {
  pthread_mutex_trylock(lock) == 0
}

/// Ends the process unless this thread holds the lock.
/// Corresponds to Apple's `os_unfair_lock_assert_owner`.
@_alwaysEmitIntoClient
public func os_unfair_lock_assert_owner(_ lock: UnsafePointer<os_unfair_lock>) {
  precondition(isHeldByThisThread(lock), "the lock isn't held by this thread")
}

/// Ends the process if this thread holds the lock.
/// Corresponds to Apple's `os_unfair_lock_assert_not_owner`.
@_alwaysEmitIntoClient
public func os_unfair_lock_assert_not_owner(_ lock: UnsafePointer<os_unfair_lock>) {
  precondition(!isHeldByThisThread(lock), "the lock is held by this thread")
}

/// glibc notes in every mutex which thread holds it. Only this thread writes this thread's number, so a read without the
/// lock can't mistake another owner for it.
@_alwaysEmitIntoClient
func isHeldByThisThread(_ lock: UnsafePointer<os_unfair_lock>) -> Bool { lock.pointee.__data.__owner == gettid() }

// Swift's module of glibc lacks it.
@_silgen_name("gettid") @usableFromInline
func gettid() -> pid_t
