internal import HostProtocol
internal import LinuxSystem

/// A callback that a call's arguments name.
struct PreparedCallback: Sendable {
  /// One call has at most so many.
  static let maxCount = 16
  /// Numbers that the runner knows (`OL_CALLBACKS`).
  static let numbers = 64
  /// So many stay at most; the other numbers are for those of calls.
  static let maxRegistered = 32

  var number: UInt8
  var signature: CallbackSignature
  var callback: PluginCallback
}

/// What answers a callback.
struct CallbackAnswer: Sendable {
  var signature: CallbackSignature
  var answer: @Sendable ([CallValue]) async throws -> CallbackReply
}

/// The bits that a callback returns, and what it fills.
struct CallbackReply: Sendable, Equatable {
  /// The default.
  static let zero = CallbackReply(bits: 0)

  var bits: UInt64
  var filled: [[UInt8]] = []
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
final class CallbackDispatcher: @unchecked Sendable {
  private struct Entry {
    var callbacks: [UInt8: CallbackAnswer]
    var scope: Set<CallbackScope>
    /// The first that one of them threw: no other is asked from then on.
    var error: (any Error)?
  }

  private let loop: EventLoop
  /// By the tickets of their calls.
  private var entries: [UInt64: Entry] = [:]
  /// Those that stay, by their numbers, with what waits for any task that answers one.
  private var registered: [UInt8: (answer: CallbackAnswer, scope: CallbackScope)] = [:]
  private var task: Task<Void, Never>?
  /// Whether the callback that is under way stays.
  private var isLasting = false

  init(_ loop: EventLoop) { self.loop = loop }

  var isAsking: Bool { task != nil }

  /// Whether one is under way that goes with its call. One that stays may be called by a thread that the call knows nothing of.
  var isAskingForCall: Bool { isAsking && !isLasting }

  func add(_ callbacks: [UInt8: CallbackAnswer], _ scope: Set<CallbackScope>, for ticket: UInt64) {
    entries[ticket] = Entry(callbacks: callbacks, scope: scope)
  }

  func register(_ number: UInt8, _ answer: CallbackAnswer, _ scope: CallbackScope) {
    registered[number] = (answer, scope)
  }

  func unregister(_ number: UInt8) { registered[number] = nil }

  /// The call is over. What one of its callbacks threw.
  @discardableResult
  func remove(_ ticket: UInt64) -> (any Error)? { entries.removeValue(forKey: ticket)?.error }

  /// The run is over, and answers are dropped.
  func cancel() {
    task?.cancel()
    entries = [:]
    registered = [:]
  }

  /// Calls `reply` on the loop with what the callback returns. `hasReturned`: the call has, and only those that stay may still be called.
  func ask(
    _ number: UInt8, _ arguments: [CallValue], of ticket: UInt64, hasReturned: Bool,
    _ reply: @escaping (CallbackReply) -> Void
  ) throws(ProtocolViolation) {
    let lasting = registered[number]
    let own = hasReturned ? nil : entries[ticket]?.callbacks[number]
    guard let callback = own ?? lasting?.answer else {
      throw .unexpected(
        "callback \(number), which the call that is under way wasn't given, or which was released")
    }
    // A call that began before the first one was registered has none.
    let entry = entries[ticket] ?? Entry(callbacks: [:], scope: lasting.map { [$0.scope] } ?? [])
    // Our own code asks in turns.
    guard task == nil else { throw .unexpected("a callback while another is under way") }
    guard callback.signature.values(of: arguments, handle: { .pointer($0) }) != nil else {
      throw .unexpected("callback \(number) with \(callback.signature.misfit(of: arguments))")
    }
    guard entry.error == nil else { return reply(.zero) }
    isLasting = own == nil
    nonisolated(unsafe) let reply = reply
    task = Task { [self, loop] in
      let result: Result<CallbackReply, any Error>
      do {
        result = .success(
          try await CallbackScope.$current.withValue(entry.scope) { try await callback.answer(arguments) })
      } catch {
        result = .failure(error)
      }
      loop.submit { [self] in
        task = nil
        switch result {
        case .success(let answer): reply(answer)
        case .failure(let error):
          entries[ticket, default: entry].error = error
          reply(.zero)
        }
      }
    }
  }
}
