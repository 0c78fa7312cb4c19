internal import Basics
internal import CFFI
internal import CLinux
internal import Glibc
internal import HostProtocol

/// Calls a function by its typed signature, through libffi.
enum FunctionCaller {
  static func warmUp() {
    CallbackTable.prepare()
    let function: @convention(c) (Int32) -> Int32 = { $0 }
    _ = invoke(
      unsafeBitCast(function, to: UnsafeMutableRawPointer.self), CallSignature(result: .i32, arguments: [.i32]),
      [.signed(1)])
  }

  /// What came of a call.
  enum Outcome {
    case answer(PlacedAnswer)
    case message(RunnerMessage)
  }

  /// nil for a request that no host makes: it has checked signature and arguments. `memory`: where arguments lie, and where a
  /// long `out(N)` is to lie. `found`: is told which function it is, before that is called.
  static func call(
    _ call: PlacedCall, in plugin: LoadedPlugin, memory: CallMemory?,
    found: (UnsafeMutableRawPointer, CallSignature) -> Void = { _, _ in }
  ) -> Outcome? {
    let signature: CallSignature
    let address: UnsafeMutableRawPointer
    if let known = plugin.resolved.functions[ExactText(call.symbol)], known.text == call.signature {
      (signature, address) = (known.signature, known.address)
    } else {
      guard let parsed = try? CallSignature(parsing: call.signature) else { return nil }
      signature = parsed
      switch find(call.symbol, in: plugin) {
      case .success(let symbol): address = symbol
      case .failure(let missing): return .message(missing.message)
      }
      plugin.resolved.functions[ExactText(call.symbol)] = .init(
        text: call.signature, signature: signature, address: address)
    }
    guard signature.arguments.count(where: \.isGiven) == call.arguments.count else { return nil }
    found(address, signature)
    return .answer(invoke(address, signature, call.arguments, memory))
  }

  private struct Missing: Error {
    let message: RunnerMessage
  }

  private static func find(
    _ symbol: String, in plugin: LoadedPlugin
  ) -> Result<UnsafeMutableRawPointer, Missing> {
    // No library exports a name with a NUL.
    if symbol.utf8.first == 0 {
      return RunnerFunction(rawValue: symbol).map { .success(OwnFunctions.address(of: $0)) }
        ?? .failure(Missing(message: .entryPointMissing))
    }
    var found: UnsafeMutableRawPointer?
    switch ol_symbol(plugin.library, symbol, &found) {
    case OL_SYMBOL_DATA: return .failure(Missing(message: .symbolIsData))
    case OL_SYMBOL_MISSING: return .failure(Missing(message: .entryPointMissing))
    default: return found.map { .success($0) } ?? .failure(Missing(message: .entryPointMissing))
    }
  }

  /// With arguments and buffers in this process's own memory.
  static func invoke(
    _ address: UnsafeMutableRawPointer, _ signature: CallSignature, _ arguments: [CallValue]
  ) -> RunnerMessage.CallResult {
    CallMemory.copy(of: invoke(address, signature, arguments.map { .value($0) }, nil))
  }

  private static func invoke(
    _ address: UnsafeMutableRawPointer, _ signature: CallSignature, _ arguments: [PlacedCall.Argument],
    _ memory: CallMemory?
  ) -> PlacedAnswer {
    let count = signature.arguments.count
    // One word for each argument; buffers live beside them until the call is over.
    let words = UnsafeMutablePointer<UInt64>.allocate(capacity: count + 1)
    let slots = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: count + 1)
    let types = UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>.allocate(capacity: count + 1)
    var buffers = CallBuffers(memory)
    var foreign = ForeignTypes()
    var callbacks: [UInt8] = []
    defer {
      words.deallocate()
      slots.deallocate()
      types.deallocate()
      buffers.release()
      foreign.release()
      CallbackTable.end(callbacks)
    }
    var given = arguments[...]
    for (index, kind) in signature.arguments.enumerated() {
      types[index] = foreign.type(of: kind)
      slots[index] = UnsafeMutableRawPointer(words + index)
      let argument = kind.isGiven ? given.popFirst() : nil
      if let size = kind.outputSize {
        words[index] = UInt64(UInt(bitPattern: buffers.output(size, from: argument)))
      } else if case .structure(let layout) = kind {
        slots[index] = buffers.copy(of: argument, size: layout.size)
      } else if kind == .callback, case .value(.bytes(let text)) = argument {
        let callback = CallbackTable.begin(text)
        if let callback { callbacks.append(callback.number) }
        words[index] = callback?.address ?? 0
      } else {
        words[index] = buffers.word(argument)
      }
    }
    var interface = ffi_cif()
    guard
      ffi_prep_cif(&interface, FFI_DEFAULT_ABI, UInt32(count), foreign.type(of: signature.result), types) == FFI_OK
    else { return .init(value: .void, out: []) }
    let function = unsafeBitCast(address, to: (@convention(c) () -> Void).self)
    let value: CallValue
    if case .structure(let layout) = signature.result {
      // In registers it takes whole words.
      let result = buffers.zeroed(CallLayout.aligned(layout.size, 16))
      ffi_call(&interface, function, result, slots)
      value = .bytes(Array(UnsafeRawBufferPointer(start: result, count: layout.size)))
    } else {
      // libffi widens small results to a register's width.
      var result: UInt64 = 0
      ffi_call(&interface, function, &result, slots)
      value = self.value(of: signature.result, result)
    }
    return .init(value: value, out: buffers.outputs)
  }

  private static func value(of kind: CallSignature.Kind, _ raw: UInt64) -> CallValue {
    if let scalar = kind.scalar { return scalar.value(of: raw) }
    switch kind {
    case .void: return .void
    case .cstring:
      guard let pointer = UnsafePointer<CChar>(bitPattern: UInt(raw)) else { return .cstring(nil) }
      return .cstring(PluginMemory.text(pointer, atMost: CallSignature.longestString, of: .result))
    default: return .pointer(raw)
    }
  }
}
