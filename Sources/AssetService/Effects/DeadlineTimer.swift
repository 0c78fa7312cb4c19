internal import CLinux
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// One timer for one deadline after another, on CLOCK_BOOTTIME (timerfd_create(2)): time in which the machine sleeps counts.
///
/// A sleeping task for each deadline isn't one: a task that is cancelled ends, and its timer stays with Dispatch until its
/// time is up. With a deadline an hour away and a new one for each event, that is everything that a service ever did.
///
/// @unchecked Sendable: what it has doesn't change, and both calls of it are safe on any thread.
final class DeadlineTimer: @unchecked Sendable {
  private let descriptor: Int32
  private let source: any DispatchSourceRead

  /// `fired` is called on a queue of Dispatch, once for each deadline that has come.
  init(_ fired: @escaping @Sendable () -> Void) throws(SystemCallError) {
    var number: Int32 = -1
    let code = ol_timerfd(&number)
    guard code == 0 else { throw SystemCallError("timerfd_create", code: code, subject: "") }
    let descriptor = number
    self.descriptor = descriptor
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
    source.setEventHandler {
      var count: UInt64 = 0
      // Whoever set it anew meanwhile finds nothing to read here.
      guard read(descriptor, &count, 8) == 8 else { return }
      fired()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    self.source = source
  }

  deinit { source.cancel() }

  /// Replaces the deadline before. nil: there is none.
  func arm(after wait: Duration?) {
    let deadline = wait.map { BootClock.now + max(.milliseconds(1), min($0, .seconds(1 << 32))) }
    _ = ol_timerfd_set(descriptor, deadline.map { UInt64($0 / .nanoseconds(1)) } ?? 0)
  }
}
