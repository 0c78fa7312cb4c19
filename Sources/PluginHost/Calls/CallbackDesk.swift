internal import HostProtocol
internal import LinuxSystem

/// A callback that a call's arguments name.
struct PreparedCallback: Sendable {
  /// One call has at most so many.
  static let maxCount = 16
  /// Numbers that the runner knows (`OL_CALLBACKS`).
  static let numbers = 64

  var number: UInt8
  var signature: CallbackSignature
  var callback: PluginCallback
}

/// What answers a callback: the bits that it returns.
struct CallbackAnswer: Sendable {
  var signature: CallbackSignature
  var answer: @Sendable ([CallValue]) async throws -> UInt64
}

/// A plugin that waits for a callback of its caller's: nothing else is asked of it meanwhile.
struct CallbackScope: Hashable, Sendable {
  /// Those that wait for the task that asks.
  @TaskLocal static var current: Set<CallbackScope> = []

  private let core: ObjectIdentifier
  private let run: UInt64

  init(core: HostCore, run: UInt64) { (self.core, self.run) = (ObjectIdentifier(core), run) }
}

/// Asks one run's callers for their callbacks, one at a time.
///
/// @unchecked Sendable: everything mutable is touched on the loop's thread only. The tasks that call the callers get values and hand
/// numbers back.
final class CallbackDesk: @unchecked Sendable {
  private struct Entry {
    var callbacks: [UInt8: CallbackAnswer]
    var scope: Set<CallbackScope>
    /// The first that one of them threw: no other is asked from then on.
    var error: (any Error)?
  }

  private let loop: EventLoop
  /// By the tickets of their calls.
  private var entries: [UInt64: Entry] = [:]
  private var task: Task<Void, Never>?

  init(_ loop: EventLoop) { self.loop = loop }

  var isAsking: Bool { task != nil }

  func add(_ callbacks: [UInt8: CallbackAnswer], _ scope: Set<CallbackScope>, for ticket: UInt64) {
    entries[ticket] = Entry(callbacks: callbacks, scope: scope)
  }

  /// The call is over. What one of its callbacks threw.
  @discardableResult
  func remove(_ ticket: UInt64) -> (any Error)? { entries.removeValue(forKey: ticket)?.error }

  /// The run is over: nobody wants to know.
  func cancel() {
    task?.cancel()
    entries = [:]
  }

  /// Calls `reply` on the loop with the bits of what the callback returns.
  func ask(
    _ number: UInt8, _ arguments: [CallValue], of ticket: UInt64, _ reply: @escaping (UInt64) -> Void
  ) throws(ProtocolViolation) {
    guard let entry = entries[ticket], let callback = entry.callbacks[number] else {
      throw .unexpected("callback \(number), which the call that is under way wasn't given")
    }
    // Our own code asks in turns.
    guard task == nil else { throw .unexpected("a callback while another is under way") }
    guard callback.signature.values(of: arguments, handle: { .pointer($0) }) != nil else {
      throw .unexpected("callback \(number) with other arguments than \(callback.signature)")
    }
    guard entry.error == nil else { return reply(0) }
    nonisolated(unsafe) let reply = reply
    task = Task { [self, loop] in
      let result: Result<UInt64, any Error>
      do {
        result = .success(
          try await CallbackScope.$current.withValue(entry.scope) { try await callback.answer(arguments) })
      } catch {
        result = .failure(error)
      }
      loop.submit { [self] in
        task = nil
        switch result {
        case .success(let bits): reply(bits)
        case .failure(let error):
          entries[ticket]?.error = error
          reply(0)
        }
      }
    }
  }
}
