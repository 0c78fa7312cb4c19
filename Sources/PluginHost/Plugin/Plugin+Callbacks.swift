public import HostProtocol
internal import Synchronization

// What a plugin's caller is asked while a call is under way.
extension Plugin {
  /// Registers a function that the plugin may call in any of its calls, on any of its threads, until it is released: for libraries that
  /// keep what they are given. Passed as `.callback(callback)`, also as `pointer` within a structure. While any is registered,
  /// calls go by the watchdog's thread, which takes some 30 µs more.
  ///
  /// - Parameters:
  ///   - signature: As `CallArgument.callback(_:_:)` has it.
  ///   - body: As there. What it throws is thrown by the call that was under way.
  /// - Returns: The callback, for this plugin; at most 32 at the same time.
  /// - Throws: `HostError.usage` for what is no callback's signature, for one too many, and where the machine has none; `.ended`,
  ///   `.cancelled` as `call`.
  public func register(
    _ signature: String, _ body: @escaping @Sendable ([CallValue]) async throws -> CallArgument
  ) async throws(HostError) -> PluginCallback {
    let parsed: CallbackSignature
    do throws(CallSignature.ParseError) {
      parsed = try CallbackSignature(parsing: signature)
    } catch {
      throw .usage(error.description)
    }
    let number = try held { (holdings) throws(PluginHoldings.Refusal) in try holdings.reserveCallback() }
    let callback = PluginCallback(
      signature: signature, registration: .init(plugin: identity, number: number), body: body)
    do throws(HostError) {
      await core.setCallback(
        number, answer(for: PreparedCallback(number: number, signature: parsed, callback: callback)), of: run)
      let text = [number] + Array(signature.utf8)
      let result = try await own(.openCallback, [.bytes(text), .unsigned(UInt64(text.count))])
      guard case .pointer(let address) = result.value, address != 0 else {
        throw .usage("the plugin takes no callback here: they work on x86-64")
      }
      holdings.withLock { $0.register(callback, number, at: address) }
      return callback
    } catch {
      await core.setCallback(number, nil, of: run)
      holdings.withLock { $0.vacate(callback: number) }
      throw error
    }
  }

  /// Releases a callback: from then on the plugin's run ends where it calls it.
  ///
  /// - Parameter callback: Of this plugin, registered.
  /// - Throws: `HostError.usage` for one that was released before, is another plugin's or wasn't registered; `.ended`, `.cancelled` as
  ///   `call`: after `.cancelled` it is still registered.
  public func release(_ callback: PluginCallback) async throws(HostError) {
    let (number, address) = try held { (holdings) throws(PluginHoldings.Refusal) in try holdings.remove(callback) }
    do throws(HostError) {
      _ = try await own(.closeCallback, [.unsigned(UInt64(number))])
    } catch {
      holdings.withLock { $0.register(callback, number, at: address) }
      throw error
    }
    await core.setCallback(number, nil, of: run)
    holdings.withLock { $0.vacate(callback: number) }
  }

  /// Whether one of its callbacks is under way that waits for the task which asks. It has no other one under way then.
  package var waitsForThisTask: Bool { CallbackScope.current.contains(CallbackScope(core: core, run: run)) }

  func answers(for callbacks: [PreparedCallback]) -> [UInt8: CallbackAnswer] {
    var answers: [UInt8: CallbackAnswer] = [:]
    for prepared in callbacks { answers[prepared.number] = answer(for: prepared) }
    return answers
  }

  private func answer(for prepared: PreparedCallback) -> CallbackAnswer {
    let signature = prepared.signature
    // One that stays doesn't keep the plugin, whose run ends with the last reference.
    return CallbackAnswer(signature: signature) { [weak self] arguments in
      guard let self else { return .zero }
      let values = try values(of: arguments, signature)
      return try reply(try await prepared.callback.body(values), signature, signature.capacities(of: arguments))
    }
  }

  private func values(of arguments: [CallValue], _ signature: CallbackSignature) throws(HostError) -> [CallValue] {
    let values: [CallValue]?
    do throws(PluginHoldings.Refusal) {
      values = try holdings.withLock { (state) throws(PluginHoldings.Refusal) in
        try state.expect(handles: signature.handles)
        defer { state.release(handles: signature.handles) }
        return signature.values(of: arguments) { .handle(state.handle(to: $0)) }
      }
    } catch {
      throw .usage(error.description)
    }
    // They were checked as they came.
    return values ?? []
  }

  private func reply(
    _ answer: CallArgument, _ signature: CallbackSignature, _ capacities: [Int]
  ) throws(HostError) -> CallbackReply {
    do throws(CallArgument.MisfitError) {
      return try ArgumentEncoder.reply(of: answer, signature, capacities, holdings.withLock { $0 })
    } catch {
      throw .usage(error.description)
    }
  }
}
