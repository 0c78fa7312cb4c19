/// A value that isn't what was asked for.
public struct CallValueError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The type that was asked for, in Swift's words.
  public var asked: String
  /// What the value is, shortened.
  public var found: String

  init(_ asked: String, _ value: CallValue) { (self.asked, found) = (asked, value.kindText) }
  init(_ asked: String, found: String) { (self.asked, self.found) = (asked, found) }

  public var description: String { "asked for \(asked), but the value is \(found)" }
}

// Nothing is rounded, cut or reinterpreted: what doesn't fit exactly is an error.
extension CallValue {
  /// The integer, where it fits `Int8`.
  public var int8: Int8 { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `Int16`.
  public var int16: Int16 { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `Int32`.
  public var int32: Int32 { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `Int64`.
  public var int64: Int64 { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `Int`.
  public var int: Int { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `UInt8`.
  public var uint8: UInt8 { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `UInt16`.
  public var uint16: UInt16 { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `UInt32`.
  public var uint32: UInt32 { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `UInt64`.
  public var uint64: UInt64 { get throws(CallValueError) { try integer() } }
  /// The integer, where it fits `UInt`.
  public var uint: UInt { get throws(CallValueError) { try integer() } }
  /// The number of an `f32`, or that of an `f64` where no bit is lost.
  public var float: Float {
    get throws(CallValueError) {
      switch self {
      case .single(let value): return value
      case .double(let value):
        if value.isNaN { return .nan }
        guard let exact = Float(exactly: value) else { throw CallValueError("Float", self) }
        return exact
      default: throw CallValueError("Float", self)
      }
    }
  }
  /// The number of an `f64` or `f32`.
  public var double: Double {
    get throws(CallValueError) {
      switch self {
      case .single(let value): return Double(value)
      case .double(let value): return value
      default: throw CallValueError("Double", self)
      }
    }
  }
  /// The text of a `cstring` that isn't NULL, or of bytes up to the first NUL among them; UTF-8, and not cut.
  public var string: String {
    get throws(CallValueError) {
      let bytes: ArraySlice<UInt8>
      switch self {
      case .cstring(let text?): bytes = text[...]
      case .bytes(let all): bytes = all.prefix { $0 != 0 }
      default: throw CallValueError("String", self)
      }
      if isCut { throw CallValueError("String", found: "a string of which only 64 KiB were read") }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CallValueError("String", found: "\(bytes.count) bytes that aren't UTF-8")
      }
      return text
    }
  }
  /// The bytes of a buffer, of `[N]u8`, or of a `cstring` that isn't NULL.
  public var data: [UInt8] {
    get throws(CallValueError) {
      switch self {
      case .bytes(let bytes), .cstring(let bytes?): return bytes
      default: throw CallValueError("bytes", self)
      }
    }
  }
  /// The address of a `pointer`, in the plugin's memory.
  public var address: UInt64 {
    get throws(CallValueError) {
      guard case .pointer(let address) = self else { throw CallValueError("an address", self) }
      return address
    }
  }
  /// What was returned as `handle` and isn't NULL.
  public var handle: PluginHandle {
    get throws(CallValueError) {
      guard case .handle(let handle?) = self else { throw CallValueError("a handle", self) }
      return handle
    }
  }
  /// The fields of a structure, or the elements of an array.
  public var fields: [CallValue] {
    get throws(CallValueError) {
      switch self {
      case .structure(let values), .array(let values): return values
      case .bytes(let bytes): return bytes.map { .unsigned(UInt64($0)) }
      default: throw CallValueError("fields", self)
      }
    }
  }
  /// Whether it is a pointer, string or handle that is NULL.
  public var isNull: Bool { self == .pointer(0) || self == .cstring(nil) || self == .handle(nil) }

  private func integer<I: FixedWidthInteger>() throws(CallValueError) -> I {
    let exact: I? =
      switch self {
      case .signed(let value): I(exactly: value)
      case .unsigned(let value): I(exactly: value)
      default: nil
      }
    guard let exact else { throw CallValueError("\(I.self)", self) }
    return exact
  }

  /// What it is, for an error.
  fileprivate var kindText: String {
    switch self {
    case .void: "void"
    case .signed(let value): "the integer \(value)"
    case .unsigned(let value): "the integer \(value)"
    case .single(let value): "the f32 \(value)"
    case .double(let value): "the f64 \(value)"
    case .pointer(0): "a pointer that is NULL"
    case .pointer(let address): "the pointer 0x\(String(address, radix: 16))"
    case .cstring(nil): "a cstring that is NULL"
    case .cstring(let bytes?): "a cstring of \(bytes.count) bytes"
    case .bytes(let bytes): "\(bytes.count) bytes"
    case .handle(nil): "a handle that is NULL"
    case .handle(let handle?): "\(handle)"
    case .structure(let fields): "a structure of \(fields.count) fields"
    case .array(let elements): "an array of \(elements.count) elements"
    }
  }
}

// Of the value that was returned.
extension CallResult {
  /// The returned integer, where it fits `Int8`.
  public var int8: Int8 { get throws(CallValueError) { try value.int8 } }
  /// The returned integer, where it fits `Int16`.
  public var int16: Int16 { get throws(CallValueError) { try value.int16 } }
  /// The returned integer, where it fits `Int32`.
  public var int32: Int32 { get throws(CallValueError) { try value.int32 } }
  /// The returned integer, where it fits `Int64`.
  public var int64: Int64 { get throws(CallValueError) { try value.int64 } }
  /// The returned integer, where it fits `Int`.
  public var int: Int { get throws(CallValueError) { try value.int } }
  /// The returned integer, where it fits `UInt8`.
  public var uint8: UInt8 { get throws(CallValueError) { try value.uint8 } }
  /// The returned integer, where it fits `UInt16`.
  public var uint16: UInt16 { get throws(CallValueError) { try value.uint16 } }
  /// The returned integer, where it fits `UInt32`.
  public var uint32: UInt32 { get throws(CallValueError) { try value.uint32 } }
  /// The returned integer, where it fits `UInt64`.
  public var uint64: UInt64 { get throws(CallValueError) { try value.uint64 } }
  /// The returned integer, where it fits `UInt`.
  public var uint: UInt { get throws(CallValueError) { try value.uint } }
  /// The returned `f32`, or an `f64` where no bit is lost.
  public var float: Float { get throws(CallValueError) { try value.float } }
  /// The returned `f64` or `f32`.
  public var double: Double { get throws(CallValueError) { try value.double } }
  /// The returned text; UTF-8, neither NULL nor cut.
  public var string: String { get throws(CallValueError) { try value.string } }
  /// The bytes of the returned text.
  public var data: [UInt8] { get throws(CallValueError) { try value.data } }
  /// The returned `pointer`.
  public var address: UInt64 { get throws(CallValueError) { try value.address } }
  /// The returned handle, which isn't NULL.
  public var handle: PluginHandle { get throws(CallValueError) { try value.handle } }
  /// The fields of the returned structure.
  public var fields: [CallValue] { get throws(CallValueError) { try value.fields } }
  /// Whether the returned pointer, text or handle is NULL.
  public var isNull: Bool { value.isNull }

  /// One of the arguments that came back.
  ///
  /// - Parameter index: From 0, among `out(N)`, `inout(N)`, `out T` and `inout T` alone.
  /// - Returns: Its value after the call.
  /// - Throws: `CallValueError` where the signature has fewer of them.
  public func output(_ index: Int) throws(CallValueError) -> CallValue {
    guard out.indices.contains(index) else {
      throw CallValueError("output \(index)", found: "one of a call with \(out.count) outputs")
    }
    return composed.map { $0[index] } ?? .bytes(out[index])
  }
}
