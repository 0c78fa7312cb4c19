internal import Dispatch
internal import Synchronization

/// Something that is made on a thread of its own while its maker does something else.
package final class Alongside<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  private let isMade = DispatchSemaphore(value: 0)

  package init(_ make: @escaping @Sendable () throws -> Value) throws(SystemCallError) {
    try Threads.detach("outrider.open") { [self] in
      let made = Result { try make() }
      result.withLock { $0 = made }
      isMade.signal()
    }
  }

  /// Waits for it. Any number of times, on any thread.
  package func value() throws -> Value {
    isMade.wait()
    isMade.signal()
    return try result.withLock { $0! }.get()
  }
}
