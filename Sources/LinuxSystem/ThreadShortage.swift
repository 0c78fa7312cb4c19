internal import Glibc

/// Why a process can't have the threads that it takes, in a sentence with its remedy.
package struct ThreadShortage: Error, Sendable, CustomStringConvertible {
  package var count: Int32
  /// Of pthread_create(3), mmap(2) or pipe2(2).
  package var code: Int32

  package var description: String {
    switch code {
    // RLIMIT_NPROC, RLIMIT_DATA and RLIMIT_AS of setrlimit(2), pids.max.
    case EAGAIN, ENOMEM:
      "this user may not start the \(count) threads and processes that it takes (ulimit -u, pids.max), or not with the memory for them (ulimit -d, -v)"
    case EMFILE, ENFILE: "this user may not open the files at once that it takes (ulimit -n)"
    default:
      "no thread can be started (clone3: \(SystemCallError.message(code))): a seccomp filter around this process refuses it, as those of old container engines do; it has to allow clone3, or answer ENOSYS"
    }
  }
}
