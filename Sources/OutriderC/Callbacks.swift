public import COutrider
internal import Dispatch
internal import HostProtocol
internal import PluginHost
internal import Synchronization

/// A function of C's that a plugin may call.
final class HeldCallback: Sendable {
  let plugin: Plugin
  let callback: PluginCallback
  private let running: RunningCalls

  init(_ plugin: Plugin, _ callback: PluginCallback, _ running: RunningCalls) {
    (self.plugin, self.callback, self.running) = (plugin, callback, running)
  }

  /// Not for one that waits for who asks: that one would never return. It is the function itself, or one whose call of another plugin
  /// has that plugin call who asks.
  func waitForCalls() { if !plugin.waitsForThisTask { running.wait() } }

  /// Afterwards its function and context are their owner's again, unless it is the function itself that frees them.
  func free() {
    let release = { @Sendable [self] in (try? await plugin.release(callback)) != nil }
    let isReleased = wait(for: release)
    running.end()
    // A function that the plugin waits for can't have it let go of the number: that is done when the call is over. Where the plugin
    // has ended, nothing is left to do.
    if !isReleased { Task.detached { _ = await release() } }
    waitForCalls()
  }
}

/// Calls of one function that are under way: a run may end while one is, and its context is in use until it returns.
final class RunningCalls: Sendable {
  private let group = DispatchGroup()
  private let hasEnded = Atomic(false)

  func run<Value>(_ body: () throws -> Value) throws -> Value {
    group.enter()
    defer { group.leave() }
    // Asked once it counts as under way: who frees the function waits for it, or it sees that.
    guard !hasEnded.load(ordering: .sequentiallyConsistent) else {
      throw AnswerError(description: "the callback was freed")
    }
    return try body()
  }

  /// No call begins from now on.
  func end() { hasEnded.store(true, ordering: .sequentiallyConsistent) }

  func wait() { group.wait() }
}

let callbacks = Objects<HeldCallback>()

/// What a function of C's said in place of an answer.
private struct AnswerError: Error, CustomStringConvertible {
  var description: String
}

/// A function of C's, and what it is called with.
///
/// @unchecked Sendable: the context is its owner's to guard, who is told so (outrider.h).
private struct Function: @unchecked Sendable {
  let address: outrider_function
  let context: UnsafeMutableRawPointer?
  let signature: CallbackSignature
  let running = RunningCalls()
  private let executor = WaitingExecutor()

  /// Calls it on a thread that may wait.
  func answer(_ values: [CallValue]) async throws -> CallArgument {
    try await withTaskExecutorPreference(executor) { try call(values) }
  }

  /// NULL in place of what an address leads to isn't the number 0.
  private static func told(_ value: CallValue, _ kind: CallbackSignature.Kind) -> CallValue {
    switch kind {
    case .number, .cstring, .room, .output, .reference(.scalar(.pointer)): value
    case .reference, .bytes, .strings: value == .pointer(0) ? .void : value
    }
  }

  /// Calls it, with room for what it fills.
  private func call(_ values: [CallValue]) throws -> CallArgument {
    let arguments = Values(zip(values, signature.arguments).map { Self.told($0, $1) })
    let filled = signature.arguments.indices.filter { signature.arguments[$0].isFilled }
    let capacities = signature.capacities(of: values)
    for (index, capacity) in zip(filled, capacities) { arguments.makeRoom(capacity, at: index) }
    var result = outrider_value()
    let status = try running.run { address(context, arguments.start, arguments.count, &result) }
    guard status == 0 else { throw AnswerError(description: "the callback failed with status \(status)") }
    var reader = Arguments()
    guard let returned = reader.read(&result, 1)?.first else {
      throw AnswerError(description: "the callback's result is no value of this library's")
    }
    guard !filled.isEmpty else { return returned }
    var parts = [returned]
    for (index, capacity) in zip(filled, capacities) {
      guard arguments.hasRoom(at: index) else {
        guard let value = reader.read(arguments.start + index, 1)?.first else {
          throw AnswerError(description: "the callback put no value of this library's in place of argument \(index)")
        }
        parts.append(value)
        continue
      }
      guard let bytes = arguments.room(at: index, of: capacity) else {
        throw AnswerError(
          description:
            "the callback fills \(arguments.start[index].count) bytes of argument \(index), which has room for \(capacity)"
        )
      }
      // A value is written as a whole, or not at all.
      parts.append(bytes.isEmpty ? .null : .bytes(bytes))
    }
    return .list(parts)
  }
}

/// Registers a callback: `outrider_register` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_register")
public func register(
  _ plugin: OpaquePointer?, _ signature: UnsafePointer<CChar>?, _ function: outrider_function?,
  _ context: UnsafeMutableRawPointer?, _ callback: UnsafeMutablePointer<OpaquePointer?>?,
  _ error: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  error?.pointee = nil
  callback?.pointee = nil
  guard let found = plugins[plugin] else { return fail(OUTRIDER_USAGE, pluginIsGone, error) }
  guard let signature, let function, let callback else {
    return fail(OUTRIDER_USAGE, "a callback needs its signature, its function, and a place for it", error)
  }
  guard let text = text(signature) else { return fail(OUTRIDER_USAGE, "the signature isn't UTF-8", error) }
  let form: CallbackSignature
  do throws(CallSignature.ParseError) { form = try CallbackSignature(parsing: text) } catch let cause {
    return fail(OUTRIDER_USAGE, cause.description, error)
  }
  let called = Function(address: function, context: context, signature: form)
  return finish(error) { () async throws(HostError) in
    try await found.register(text) { values in try await called.answer(values) }
  } then: {
    callback.pointee = callbacks.add(HeldCallback(found, $0, called.running))
  }
}

/// Releases a callback: `outrider_callback_free` of outrider.h, which has the parameters, results and errors.
@_cdecl("outrider_callback_free")
public func freeCallback(_ callback: OpaquePointer?) {
  callbacks.remove(callback)?.free()
}
