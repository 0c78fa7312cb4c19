/// How a value lies in a plugin's memory: as C compilers lay out a structure of such fields on this machine.
package indirect enum CallLayout: Sendable, Equatable, CustomStringConvertible {
  case scalar(Scalar)
  case array(CallLayout, count: Int)
  case structure([CallLayout])

  package enum Scalar: String, Sendable, CaseIterable {
    case i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, pointer, handle

    /// Bytes, and the alignment as well.
    package var size: Int {
      switch self {
      case .i8, .u8: 1
      case .i16, .u16: 2
      case .i32, .u32, .f32: 4
      case .i64, .u64, .f64, .pointer, .handle: 8
      }
    }
  }

  /// Structures and arrays within each other.
  package static let deepest = 8
  /// Bytes of a value that is passed by its address.
  package static let largest = 64 << 10
  /// Bytes of a structure that is passed or returned by value: it lies on the stack.
  package static let largestByValue = 4 << 10

  /// Bytes, with those that follow the last field.
  package var size: Int {
    switch self {
    case .scalar(let scalar): scalar.size
    case .array(let element, let count): element.size * count
    case .structure(let fields):
      Self.aligned(fields.reduce(0) { Self.aligned($0, $1.alignment) + $1.size }, alignment)
    }
  }

  package var alignment: Int {
    switch self {
    case .scalar(let scalar): scalar.size
    case .array(let element, _): element.alignment
    case .structure(let fields): fields.reduce(1) { max($0, $1.alignment) }
    }
  }

  /// How many handles it holds.
  package var handles: Int {
    switch self {
    case .scalar(let scalar): scalar == .handle ? 1 : 0
    case .array(let element, let count): element.handles * count
    case .structure(let fields): fields.reduce(0) { $0 + $1.handles }
    }
  }

  package var description: String {
    switch self {
    case .scalar(let scalar): scalar.rawValue
    case .array(let element, let count): "[\(count)]\(element)"
    case .structure(let fields): "{\(fields.map(\.description).joined(separator: ","))}"
    }
  }

  /// The first place at or behind `offset` that has the alignment, a power of two.
  package static func aligned(_ offset: Int, _ alignment: Int) -> Int { (offset + alignment - 1) & ~(alignment - 1) }

  /// What the bytes hold, which are as many as the layout has. What lies between the fields isn't looked at. `handle`: what stands
  /// for the address in a handle's place.
  package func value<Failure: Error>(
    in bytes: [UInt8], handle: (UInt64) throws(Failure) -> CallValue
  ) throws(Failure) -> CallValue {
    try value(in: bytes, at: 0, handle)
  }

  private func value<Failure: Error>(
    in bytes: [UInt8], at start: Int, _ handle: (UInt64) throws(Failure) -> CallValue
  ) throws(Failure) -> CallValue {
    switch self {
    case .scalar(.handle): return try handle(Self.bits(bytes, start, 8))
    case .scalar(let scalar): return scalar.value(of: Self.bits(bytes, start, scalar.size))
    case .array(.scalar(.u8), let count): return .bytes(Array(bytes[start..<start + count]))
    case .array(let element, let count):
      var values: [CallValue] = []
      for index in 0..<count { values.append(try element.value(in: bytes, at: start + index * element.size, handle)) }
      return .array(values)
    case .structure(let fields):
      var values: [CallValue] = []
      var offset = start
      for field in fields {
        offset = Self.aligned(offset, field.alignment)
        values.append(try field.value(in: bytes, at: offset, handle))
        offset += field.size
      }
      return .structure(values)
    }
  }

  /// As this machine keeps numbers: the lowest byte first.
  private static func bits(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt64 {
    bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension CallSignature.Kind {
  /// What it is as a number or an address that passes by value; nil for all others.
  package var scalar: CallLayout.Scalar? {
    switch self {
    case .i8: .i8
    case .u8: .u8
    case .i16: .i16
    case .u16: .u16
    case .i32: .i32
    case .u32: .u32
    case .i64: .i64
    case .u64: .u64
    case .f32: .f32
    case .f64: .f64
    case .pointer: .pointer
    case .handle: .handle
    case .void, .callback, .cstring, .bytes, .out, .inOut, .structure, .reference: nil
    }
  }
}

extension CallLayout.Scalar {
  /// Its kind as an argument of its own.
  package var kind: CallSignature.Kind {
    switch self {
    case .i8: .i8
    case .u8: .u8
    case .i16: .i16
    case .u16: .u16
    case .i32: .i32
    case .u32: .u32
    case .i64: .i64
    case .u64: .u64
    case .f32: .f32
    case .f64: .f64
    case .pointer: .pointer
    case .handle: .handle
    }
  }

  /// The lowest bytes of `bits`.
  package func value(of bits: UInt64) -> CallValue {
    switch self {
    case .i8: .signed(Int64(Int8(truncatingIfNeeded: bits)))
    case .i16: .signed(Int64(Int16(truncatingIfNeeded: bits)))
    case .i32: .signed(Int64(Int32(truncatingIfNeeded: bits)))
    case .i64: .signed(Int64(bitPattern: bits))
    case .u8: .unsigned(bits & 0xff)
    case .u16: .unsigned(bits & 0xffff)
    case .u32: .unsigned(bits & 0xffff_ffff)
    case .u64: .unsigned(bits)
    case .f32: .single(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    case .f64: .double(Double(bitPattern: bits))
    case .pointer, .handle: .pointer(bits)
    }
  }
}
