// The names are those of Apple's os.
// swift-format-ignore-file: AlwaysUseLowerCamelCase, TypeNamesShouldBeCapitalized

// As Apple's os brings Darwin along.
@_exported public import Glibc

// Libraries that find this module with `#if canImport(os)` expect the lock here, without ever linking to it: a package's
// modules share one directory. So nothing below has a symbol of its own. The type is one of C, which a zero initializes,
// and the functions are emitted into whoever calls them.

/// A lock that lives where its owner puts it. Corresponds to Apple's `os_unfair_lock`.
public typealias os_unfair_lock = pthread_mutex_t
public typealias os_unfair_lock_s = pthread_mutex_t
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock>

@_alwaysEmitIntoClient
public func os_unfair_lock_lock(_ lock: UnsafeMutablePointer<os_unfair_lock>) { pthread_mutex_lock(lock) }

@_alwaysEmitIntoClient
public func os_unfair_lock_unlock(_ lock: UnsafeMutablePointer<os_unfair_lock>) { pthread_mutex_unlock(lock) }

@_alwaysEmitIntoClient
public func os_unfair_lock_trylock(_ lock: UnsafeMutablePointer<os_unfair_lock>) -> Bool {
  pthread_mutex_trylock(lock) == 0
}
