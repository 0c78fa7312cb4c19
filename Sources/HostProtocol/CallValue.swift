/// An argument of a call or what one returned.
public enum CallValue: Sendable, Equatable {
  case void
  /// Every signed integer, sign-extended.
  case signed(Int64)
  case unsigned(UInt64)
  case single(Float)
  case double(Double)
  case pointer(UInt64)
  /// A NUL-terminated string that the runner read, bounded; nil is NULL.
  case cstring([UInt8]?)
  case bytes([UInt8])
  /// What was returned as `handle`; nil is NULL.
  case handle(PluginHandle?)
  /// The fields, in their order.
  case structure([CallValue])
  /// The elements; those of `[N]u8` are `bytes`.
  case array([CallValue])

  /// A returned string that fills the bound: what may follow isn't read.
  public var isCut: Bool {
    if case .cstring(let bytes?) = self { bytes.count >= CallSignature.longestString } else { false }
  }

  static let bytesCase: UInt8 = 7

  func write(to writer: inout ByteWriter) {
    switch self {
    case .void: writer.integer(UInt8(0))
    case .signed(let value):
      writer.integer(UInt8(1))
      writer.integer(value)
    case .unsigned(let value):
      writer.integer(UInt8(2))
      writer.integer(value)
    case .single(let value):
      writer.integer(UInt8(3))
      writer.integer(value.bitPattern)
    case .double(let value):
      writer.integer(UInt8(4))
      writer.integer(value.bitPattern)
    case .pointer(let value):
      writer.integer(UInt8(5))
      writer.integer(value)
    case .cstring(let value):
      writer.integer(UInt8(6))
      writer.optional(value) { $0.data($1) }
    case .bytes(let value):
      writer.integer(Self.bytesCase)
      writer.data(value)
    // The host's own: a structure crosses as the bytes that it lies in, a handle as its address.
    case .handle, .structure, .array: writer.integer(UInt8(0))
    }
  }

  init(from reader: inout ByteReader) throws(ProtocolViolation) {
    switch try reader.integer(UInt8.self) {
    case 0: self = .void
    case 1: self = .signed(try reader.integer())
    case 2: self = .unsigned(try reader.integer())
    case 3: self = .single(Float(bitPattern: try reader.integer()))
    case 4: self = .double(Double(bitPattern: try reader.integer()))
    case 5: self = .pointer(try reader.integer())
    case 6: self = .cstring(try reader.optional { (reader) throws(ProtocolViolation) in try reader.data() })
    case Self.bytesCase: self = .bytes(try reader.data())
    case let other: throw .unknownCase(other)
    }
  }
}
