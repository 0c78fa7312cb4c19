internal import Glibc
internal import HostProtocol

/// Where the arguments of one call lie until it is over, and what of them comes back.
struct CallBuffers {
  private let memory: CallMemory?
  private var room: AreaRoom
  private var owned: [UnsafeMutableRawPointer] = []
  private var outs: [(start: UnsafeMutableRawPointer, size: Int, place: PlacedData?)] = []

  /// `memory`: where long arguments lie already, and where what is long and comes back is to lie.
  init(_ memory: CallMemory?) {
    self.memory = memory
    room = AreaRoom(capacity: memory?.room ?? 0)
  }

  /// After the call, and after `outputs`.
  func release() { for buffer in owned { buffer.deallocate() } }

  /// What has become of every argument that comes back.
  var outputs: [PlacedAnswer.Buffer] {
    outs.map { start, size, place in
      place.map { .placed($0) } ?? .bytes(Array(UnsafeRawBufferPointer(start: start, count: size)))
    }
  }

  /// So many bytes, aligned for every type.
  mutating func zeroed(_ size: Int) -> UnsafeMutableRawPointer {
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    memset(buffer, 0, size)
    owned.append(buffer)
    return buffer
  }

  /// A buffer that comes back; it begins with what was given.
  mutating func output(_ size: Int, from argument: PlacedCall.Argument?) -> UnsafeMutableRawPointer {
    let place = size >= PlacedData.shortest ? room.place(size) : nil
    let buffer: UnsafeMutableRawPointer
    if let place, let memory {
      buffer = memory.answers + place.offset
      if !memory.cleared.isZero(place) { memset(buffer, 0, size) }
      memory.cleared.put(place)
    } else {
      buffer = zeroed(size)
    }
    fill(buffer, size, from: argument)
    outs.append((buffer, size, place))
    return buffer
  }

  mutating func copy(of argument: PlacedCall.Argument?, size: Int) -> UnsafeMutableRawPointer {
    let buffer = zeroed(CallLayout.aligned(size, 16))
    fill(buffer, size, from: argument)
    return buffer
  }

  /// Never more than there is room for, whatever was given.
  private func fill(_ buffer: UnsafeMutableRawPointer, _ size: Int, from argument: PlacedCall.Argument?) {
    switch argument {
    case .value(.bytes(let bytes)):
      bytes.withUnsafeBytes {
        if let base = $0.baseAddress { buffer.copyMemory(from: base, byteCount: min($0.count, size)) }
      }
    case .placed(let place):
      if let memory { buffer.copyMemory(from: memory.questions + place.offset, byteCount: min(place.count, size)) }
    case .value, nil: break
    }
  }

  /// What is passed in a register or on the stack: the value itself, or where its bytes lie.
  mutating func word(_ argument: PlacedCall.Argument?) -> UInt64 {
    switch argument {
    case .value(let value): word(value)
    case .placed(let place): memory.map { UInt64(UInt(bitPattern: $0.questions + place.offset)) } ?? 0
    case nil: 0
    }
  }

  private mutating func word(_ value: CallValue) -> UInt64 {
    switch value {
    case .cstring(let bytes?), .bytes(let bytes):
      // One more byte, so that text passed as bytes is terminated as well.
      let buffer = UnsafeMutableRawPointer.allocate(byteCount: bytes.count + 1, alignment: 16)
      bytes.withUnsafeBytes { if let base = $0.baseAddress { buffer.copyMemory(from: base, byteCount: bytes.count) } }
      buffer.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
      owned.append(buffer)
      return UInt64(UInt(bitPattern: buffer))
    default: return value.word ?? 0
    }
  }
}
