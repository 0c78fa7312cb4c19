internal import CLinux
internal import Glibc

/// Readable for all threads from the moment that it is raised (eventfd(2)).
package final class StopSignal: Sendable {
  private let event: OwnedDescriptor

  package init() throws(SystemCallError) {
    var number: Int32 = -1
    try check("eventfd", "") { ol_eventfd(&number) }
    event = OwnedDescriptor(taking: number)
  }

  package var number: Int32 { event.number }

  package func raise() {
    var one: UInt64 = 1
    _ = Glibc.write(event.number, &one, 8)
  }

  /// The first of these that can be read or is dead; nil: it was raised.
  package func wait(anyOf descriptors: [Int32]) -> Int32? {
    while true {
      var entries = ([event.number] + descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let count = poll(&entries, nfds_t(entries.count), -1)
      if entries[0].revents != 0 { return nil }
      if count > 0, let ready = entries.first(where: { $0.revents != 0 }) { return ready.fd }
      if count < 0, errno != EINTR { return nil }
    }
  }

  package enum Readiness { case ready, timedOut, stopped }

  /// Waits for `events` on a descriptor (none: for the time to pass); errors and hang-ups make it ready too.
  package func wait(_ descriptor: Int32, _ events: Int32, for limit: Duration?) -> Readiness {
    let deadline = limit.map { BootClock.now + $0 }
    while true {
      let left = deadline.map { $0 - BootClock.now }
      let milliseconds = left.map { Int32(clamping: max(($0.inNanoseconds + 999_999) / 1_000_000, 0)) } ?? -1
      var entries = [
        pollfd(fd: event.number, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0),
      ]
      let count = poll(&entries, 2, milliseconds)
      if entries[0].revents != 0 { return .stopped }
      if count > 0, entries[1].revents != 0 { return .ready }
      if count == 0 { return .timedOut }
      if count < 0, errno != EINTR { return .ready }
    }
  }
}
