internal import Glibc

/// The stack that this process and its threads may have (RLIMIT_STACK of setrlimit(2)).
package enum StackLimit {
  /// 128 KiB is enough for each command that was tried, and 64 KiB for none.
  private static let least: UInt = 128 << 10

  /// That it is too small, in a sentence; nil: it isn't. Who goes on with less ends by SIGSEGV without a word.
  package static var lack: String? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_STACK.rawValue), &limit) == 0, limit.rlim_cur < least else { return nil }
    return "this user may have a stack of \(limit.rlim_cur >> 10) KiB only, and it takes \(least >> 10) (ulimit -s)"
  }
}
