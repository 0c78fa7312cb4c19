internal import CFFI
internal import CLinux
internal import Glibc
internal import HostProtocol

/// Calls a function by its typed signature, through libffi.
enum FunctionCaller {
  static func warmUp() {
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
  /// long `out(N)` is to lie.
  static func call(_ call: PlacedCall, in plugin: LoadedPlugin, memory: CallMemory?) -> Outcome? {
    let signature: CallSignature
    let address: UnsafeMutableRawPointer
    if let known = plugin.resolved.functions[call.symbol], known.text == call.signature {
      (signature, address) = (known.signature, known.address)
    } else {
      guard let parsed = try? CallSignature(parsing: call.signature) else { return nil }
      signature = parsed
      var found: UnsafeMutableRawPointer?
      switch ol_symbol(plugin.library, call.symbol, &found) {
      case OL_SYMBOL_MISSING: return .message(.entryPointMissing)
      case OL_SYMBOL_DATA: return .message(.symbolIsData)
      default: break
      }
      guard let found else { return .message(.entryPointMissing) }
      address = found
      plugin.resolved.functions[call.symbol] = .init(text: call.signature, signature: signature, address: found)
    }
    let given = signature.arguments.count { if case .out = $0 { false } else { true } }
    guard given == call.arguments.count else { return nil }
    return .answer(invoke(address, signature, call.arguments, memory))
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
    var buffers: [UnsafeMutableRawPointer] = []
    var outs: [(UnsafeMutableRawPointer, Int, PlacedData?)] = []
    defer {
      words.deallocate()
      slots.deallocate()
      types.deallocate()
      for buffer in buffers { buffer.deallocate() }
    }
    var room = AreaRoom(capacity: memory?.room ?? 0)
    var given = arguments[...]
    for (index, kind) in signature.arguments.enumerated() {
      types[index] = type(of: kind)
      slots[index] = UnsafeMutableRawPointer(words + index)
      if case .out(let size) = kind {
        let buffer: UnsafeMutableRawPointer
        let place = size >= PlacedData.shortest ? room.place(size) : nil
        if let place, let memory {
          buffer = memory.answers + place.offset
        } else {
          buffer = .allocate(byteCount: size, alignment: 16)
          buffers.append(buffer)
        }
        memset(buffer, 0, size)
        outs.append((buffer, size, place))
        words[index] = UInt64(UInt(bitPattern: buffer))
      } else {
        switch given.popFirst() {
        case .value(let value): words[index] = word(value, &buffers)
        case .placed(let place):
          words[index] = memory.map { UInt64(UInt(bitPattern: $0.questions + place.offset)) } ?? 0
        case nil: words[index] = 0
        }
      }
    }
    var interface = ffi_cif()
    guard ffi_prep_cif(&interface, FFI_DEFAULT_ABI, UInt32(count), type(of: signature.result), types) == FFI_OK else {
      return .init(value: .void, out: [])
    }
    // libffi widens small results to a register's width.
    var result: UInt64 = 0
    ffi_call(&interface, unsafeBitCast(address, to: (@convention(c) () -> Void).self), &result, slots)
    return .init(
      value: value(of: signature.result, result),
      out: outs.map { buffer, size, place in
        place.map { .placed($0) } ?? .bytes(Array(UnsafeRawBufferPointer(start: buffer, count: size)))
      })
  }

  private static func word(_ value: CallValue, _ buffers: inout [UnsafeMutableRawPointer]) -> UInt64 {
    switch value {
    case .void: return 0
    case .signed(let value): return UInt64(bitPattern: value)
    case .unsigned(let value), .pointer(let value): return value
    case .single(let value): return UInt64(value.bitPattern)
    case .double(let value): return value.bitPattern
    case .cstring(nil): return 0
    case .cstring(let bytes?), .bytes(let bytes):
      // One more byte, so that text passed as bytes is terminated as well.
      let buffer = UnsafeMutableRawPointer.allocate(byteCount: bytes.count + 1, alignment: 16)
      bytes.withUnsafeBytes { if let base = $0.baseAddress { buffer.copyMemory(from: base, byteCount: bytes.count) } }
      buffer.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
      buffers.append(buffer)
      return UInt64(UInt(bitPattern: buffer))
    }
  }

  private static func value(of kind: CallSignature.Kind, _ raw: UInt64) -> CallValue {
    switch kind {
    case .void: return .void
    case .i8: return .signed(Int64(Int8(truncatingIfNeeded: raw)))
    case .i16: return .signed(Int64(Int16(truncatingIfNeeded: raw)))
    case .i32: return .signed(Int64(Int32(truncatingIfNeeded: raw)))
    case .i64: return .signed(Int64(bitPattern: raw))
    case .u8: return .unsigned(raw & 0xff)
    case .u16: return .unsigned(raw & 0xffff)
    case .u32: return .unsigned(raw & 0xffff_ffff)
    case .u64: return .unsigned(raw)
    case .f32: return .single(Float(bitPattern: UInt32(truncatingIfNeeded: raw)))
    case .f64: return .double(Double(bitPattern: raw))
    case .pointer, .bytes, .out: return .pointer(raw)
    case .cstring:
      guard let pointer = UnsafePointer<CChar>(bitPattern: UInt(raw)) else { return .cstring(nil) }
      return .cstring(PluginMemory.text(pointer, atMost: CallSignature.longestString, of: .result))
    }
  }

  private static func type(of kind: CallSignature.Kind) -> UnsafeMutablePointer<ffi_type>? {
    switch kind {
    case .void: ol_ffi_void()
    case .i8: ol_ffi_i8()
    case .u8: ol_ffi_u8()
    case .i16: ol_ffi_i16()
    case .u16: ol_ffi_u16()
    case .i32: ol_ffi_i32()
    case .u32: ol_ffi_u32()
    case .i64: ol_ffi_i64()
    case .u64: ol_ffi_u64()
    case .f32: ol_ffi_f32()
    case .f64: ol_ffi_f64()
    case .pointer, .cstring, .bytes, .out: ol_ffi_pointer()
    }
  }
}
