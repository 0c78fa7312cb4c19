internal import Glibc

/// A system call that no run can do without, and that an old kernel lacks or a filter around the host refuses.
enum RefusedSystemCall {
  /// The first Linux with each.
  private static let firstKernels = ["memfd_create": "3.17", "pidfd_open": "5.3"]

  /// What helps where `call` failed so, as the end of a sentence.
  static func remedy(for call: String, _ code: Int32) -> String {
    guard [ENOSYS, EPERM].contains(code), let first = firstKernels[call] else { return "" }
    return
      "; the kernel is too old (Linux \(first) has the call), or a filter around this process, as of a container engine, refuses \(call)(2) and has to allow it"
  }
}
