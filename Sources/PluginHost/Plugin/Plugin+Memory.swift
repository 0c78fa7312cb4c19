public import HostProtocol
internal import Synchronization

// What stays between calls: memory, and handles to what functions returned.
extension Plugin {
  /// Allocates memory within the plugin, all zeros: of its memory limit, which all that is allocated may have together. It stays until
  /// it is freed or the plugin ends, and is passed to functions as `.memory(memory)` or `.memory(memory, offset: 16)`.
  ///
  /// - Parameter byteCount: 1 or more.
  /// - Returns: The memory.
  /// - Throws: `HostError.usage` where the limit or the plugin has no room for it; `.ended`, `.cancelled` as `call`.
  public func allocate(_ byteCount: Int) async throws(HostError) -> PluginMemory {
    try held { (holdings) throws(PluginHoldings.Refusal) in try holdings.expect(bytes: byteCount) }
    let result: RunnerMessage.CallResult
    do throws(HostError) {
      result = try await own(.allocate, [.unsigned(UInt64(byteCount))])
    } catch {
      _ = holdings.withLock { $0.allocated(bytes: byteCount, at: nil) }
      throw error
    }
    let address: UInt64? = if case .pointer(let address) = result.value { address } else { nil }
    guard let memory = holdings.withLock({ $0.allocated(bytes: byteCount, at: address) }) else {
      throw .usage("the plugin has no room for \(byteCount) bytes")
    }
    return memory
  }

  /// Writes to memory of the plugin's. While other calls are made, in pieces of 1 MiB.
  ///
  /// - Parameters:
  ///   - bytes: What is written.
  ///   - memory: Of this plugin.
  ///   - offset: Where it is written to, in bytes from the start.
  /// - Throws: `HostError.usage` for memory that was freed, is another plugin's or ends before; `.ended`, `.cancelled` as
  ///   `call`.
  public func write(_ bytes: [UInt8], to memory: PluginMemory, at offset: Int = 0) async throws(HostError) {
    let address = try begin(memory, offset, bytes.count)
    defer { holdings.withLock { $0.unuse(memory) } }
    for start in stride(from: 0, to: bytes.count, by: step) {
      let part = Array(bytes[start..<min(start + step, bytes.count)])
      _ = try await own(.write, [.pointer(address + UInt64(start)), .bytes(part), .unsigned(UInt64(part.count))])
    }
  }

  /// Reads memory of the plugin's. While other calls are made, in pieces of 1 MiB.
  ///
  /// - Parameters:
  ///   - memory: Of this plugin.
  ///   - offset: Where it begins, in bytes from the start.
  ///   - count: How many bytes; nil: all that follow.
  /// - Returns: The bytes.
  /// - Throws: `HostError.usage` for memory that was freed, is another plugin's or ends before; `.ended`, `.cancelled` as
  ///   `call`.
  public func read(_ memory: PluginMemory, at offset: Int = 0, count: Int? = nil) async throws(HostError) -> [UInt8] {
    let count = count ?? max(memory.byteCount - max(offset, 0), 0)
    let address = try begin(memory, offset, count)
    defer { holdings.withLock { $0.unuse(memory) } }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: count, by: step) {
      let part = min(step, count - start)
      let result = try await own(.read, [.pointer(address + UInt64(start)), .unsigned(UInt64(part))], count: part)
      bytes += result.out.first ?? []
    }
    return bytes
  }

  /// Writes a structure, an array or a number to memory of the plugin's, as it lies in a structure of C.
  ///
  /// - Parameters:
  ///   - value: For a structure or an array a list.
  ///   - type: A type as signatures have it behind `&`, for example `{i32,f64,[4]u8}`.
  ///   - memory: Of this plugin.
  ///   - offset: Where it is written to, in bytes from the start.
  /// - Throws: `HostError.usage` where the value doesn't fit the type, and as `write(_:to:at:)`.
  public func write(
    _ value: CallArgument, as type: String, to memory: PluginMemory, at offset: Int = 0
  ) async throws(HostError) {
    let layout = try CallBounds.layout(type)
    let bytes = try held { (holdings) throws(PluginHoldings.Refusal) in
      var encoder = ArgumentEncoder(holdings)
      do throws(CallArgument.MisfitError) {
        return try encoder.bytes(of: value, layout)
      } catch {
        throw PluginHoldings.Refusal(description: error.description)
      }
    }
    try await write(bytes, to: memory, at: offset)
  }

  /// Reads a structure, an array or a number from memory of the plugin's.
  ///
  /// - Parameters:
  ///   - memory: Of this plugin.
  ///   - type: A type as signatures have it behind `&`, for example `{i32,f64,[4]u8}`.
  ///   - offset: Where it begins, in bytes from the start.
  /// - Returns: What lies there.
  /// - Throws: `HostError.usage` for what isn't a type or where too many handles are held, and as `read(_:at:count:)`.
  public func read(
    _ memory: PluginMemory, as type: String, at offset: Int = 0
  ) async throws(HostError) -> CallValue {
    let layout = try CallBounds.layout(type)
    try held { (holdings) throws(PluginHoldings.Refusal) in try holdings.expect(handles: layout.handles) }
    defer { holdings.withLock { $0.release(handles: layout.handles) } }
    let bytes = try await read(memory, at: offset, count: layout.size)
    return holdings.withLock { state in
      layout.value(in: bytes) { (address) -> CallValue in .handle(state.handle(to: address)) }
    }
  }

  /// Frees memory of the plugin's. From then on it is refused wherever it is named.
  ///
  /// - Parameter memory: Of this plugin.
  /// - Throws: `HostError.usage` for memory that was freed before, is another plugin's or is used by a call under way; `.ended`,
  ///   `.cancelled` as `call`.
  public func free(_ memory: PluginMemory) async throws(HostError) {
    let address = try held { (holdings) throws(PluginHoldings.Refusal) in try holdings.remove(memory) }
    do throws(HostError) {
      _ = try await own(.free, [.pointer(address)])
    } catch {
      holdings.withLock { $0.restore(memory, at: address) }
      throw error
    }
  }

  /// Forgets a handle: from then on it is refused. The plugin isn't told; what the handle stands for has to be closed by a function
  /// of its library before.
  ///
  /// - Parameter handle: Of this plugin.
  /// - Throws: `HostError.usage` for a handle that was released before or is another plugin's.
  public func release(_ handle: PluginHandle) throws(HostError) {
    try held { (holdings) throws(PluginHoldings.Refusal) in try holdings.release(handle) }
  }

  /// A call of a function of the runner's own.
  func own(
    _ function: RunnerFunction, _ arguments: [CallValue], count: Int = 0
  ) async throws(HostError) -> RunnerMessage.CallResult {
    let signature = function.signature(count: count)
    let known = KnownFunction(function.rawValue, "\(signature)", signature, isRemembered: false)
    return try await core.call(
      run, FunctionCall(function: known, arguments: arguments), lane: lane,
      mayAsk: holdings.withLock { $0.hasCallbacks })
  }

  func held<T>(
    _ body: (inout PluginHoldings) throws(PluginHoldings.Refusal) -> T
  ) throws(HostError) -> T {
    do throws(PluginHoldings.Refusal) {
      return try holdings.withLock { (state) throws(PluginHoldings.Refusal) in try body(&state) }
    } catch {
      throw .usage(error.description)
    }
  }

  private func begin(_ memory: PluginMemory, _ offset: Int, _ count: Int) throws(HostError) -> UInt64 {
    try held { (holdings) throws(PluginHoldings.Refusal) in
      let address = try holdings.address(of: memory, offset: offset, count: count)
      holdings.use(memory)
      return address
    }
  }

  // MARK: Calls

  /// A call with what its arguments name, which is kept until `finish`.
  func begin(
    _ symbol: String, _ text: String, _ arguments: [CallArgument]
  ) throws(HostError) -> CallBounds.Function {
    guard arguments.contains(where: \.isHeld) else {
      let function = try CallBounds.function(symbol, text, arguments, functions)
      let handles = function.known.handles
      if handles > 0 {
        try held { (holdings) throws(PluginHoldings.Refusal) in try holdings.expect(handles: handles) }
      }
      return function
    }
    return try holdings.withLock { (state) throws(HostError) in
      let function = try CallBounds.function(symbol, text, arguments, functions, state)
      do throws(PluginHoldings.Refusal) {
        try state.expect(handles: function.known.handles)
      } catch {
        throw .usage(error.description)
      }
      for memory in function.used { state.use(memory) }
      state.gave(callbacksBefore: function.nextCallback)
      return function
    }
  }

  func finish(_ function: CallBounds.Function) {
    let handles = function.known.handles
    guard handles > 0 || !function.used.isEmpty else { return }
    holdings.withLock { state in
      state.release(handles: handles)
      for memory in function.used { state.unuse(memory) }
    }
  }

  /// What a call brought, by the layouts of its signature. The sizes have been checked.
  func compose(_ result: RunnerMessage.CallResult, _ signature: CallSignature) -> RunnerMessage.CallResult {
    holdings.withLock { state in
      var result = result
      func handle(_ address: UInt64) -> CallValue { .handle(state.handle(to: address)) }
      switch (signature.result, result.value) {
      case (.handle, .pointer(let address)): result.value = handle(address)
      case (.structure(let layout), .bytes(let bytes)): result.value = layout.value(in: bytes, handle: handle)
      default: break
      }
      var outputs: [CallValue] = []
      for (index, kind) in signature.outputs.enumerated() {
        guard case .reference(_, let layout) = kind else {
          outputs.append(.bytes(result.out[index]))
          continue
        }
        outputs.append(layout.value(in: result.out[index], handle: handle))
        // No address is told where a handle was asked for.
        if layout.handles > 0 { result.out[index] = ArgumentEncoder.bytes(of: outputs[index], layout) }
      }
      result.composed = outputs
      return result
    }
  }
}
