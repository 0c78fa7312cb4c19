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

  /// nil for a request that no host makes: it has checked signature and arguments.
  static func call(
    _ symbol: String, _ text: String, _ arguments: [CallValue], in plugin: LoadedPlugin
  ) -> RunnerMessage? {
    let signature: CallSignature
    let address: UnsafeMutableRawPointer
    if let known = plugin.resolved.functions[symbol], known.text == text {
      (signature, address) = (known.signature, known.address)
    } else {
      guard let parsed = try? CallSignature(parsing: text) else { return nil }
      signature = parsed
      var found: UnsafeMutableRawPointer?
      switch ol_symbol(plugin.library, symbol, &found) {
      case OL_SYMBOL_MISSING: return .entryPointMissing
      case OL_SYMBOL_DATA: return .symbolIsData
      default: break
      }
      guard let found else { return .entryPointMissing }
      address = found
      plugin.resolved.functions[symbol] = .init(text: text, signature: signature, address: found)
    }
    let given = signature.arguments.filter { if case .out = $0 { false } else { true } }
    guard given.count == arguments.count else { return nil }
    return .returned(invoke(address, signature, arguments))
  }

  static func invoke(
    _ address: UnsafeMutableRawPointer, _ signature: CallSignature, _ arguments: [CallValue]
  ) -> RunnerMessage.CallResult {
    let count = signature.arguments.count
    // One word for each argument; buffers live beside them until the call is over.
    let words = UnsafeMutablePointer<UInt64>.allocate(capacity: count + 1)
    let slots = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: count + 1)
    let types = UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>.allocate(capacity: count + 1)
    var buffers: [UnsafeMutableRawPointer] = []
    var outs: [(UnsafeMutableRawPointer, Int)] = []
    defer {
      words.deallocate()
      slots.deallocate()
      types.deallocate()
      for buffer in buffers { buffer.deallocate() }
    }
    var given = arguments[...]
    for (index, kind) in signature.arguments.enumerated() {
      types[index] = type(of: kind)
      slots[index] = UnsafeMutableRawPointer(words + index)
      if case .out(let size) = kind {
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        memset(buffer, 0, size)
        buffers.append(buffer)
        outs.append((buffer, size))
        words[index] = UInt64(UInt(bitPattern: buffer))
      } else {
        words[index] = word(given.popFirst() ?? .void, &buffers)
      }
    }
    var interface = ffi_cif()
    guard ffi_prep_cif(&interface, FFI_DEFAULT_ABI, UInt32(count), type(of: signature.result), types) == FFI_OK else {
      return .init(value: .void)
    }
    // libffi widens small results to a register's width.
    var result: UInt64 = 0
    ffi_call(&interface, unsafeBitCast(address, to: (@convention(c) () -> Void).self), &result, slots)
    return .init(
      value: value(of: signature.result, result),
      out: outs.map { Array(UnsafeRawBufferPointer(start: $0.0, count: $0.1)) })
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
