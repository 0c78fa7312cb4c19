public import HostProtocol

/// An argument as callers write it; the signature says what it becomes.
public enum CallArgument: Sendable, Equatable {
  case integer(Int64)
  case unsigned(UInt64)
  case double(Double)
  case text(String)
  case bytes([UInt8])
  case null
  /// The fields of a structure, the elements of an array, or bytes, in their order.
  case list([CallArgument])
  /// What the same plugin returned.
  case handle(PluginHandle)
  /// The address of memory of the same plugin, so many bytes from its start.
  case memory(PluginMemory, offset: Int = 0)
  /// A function of the caller's.
  case callback(PluginCallback)

  /// A function that the plugin is given the address of, and may call for as long as the call is under way that has it as its
  /// argument. It gets the arguments by `signature`, and its result goes back to the plugin; `nil` for `void`. Where it fills arguments,
  /// it returns a list: the result, and what each gets; without a list nothing is filled.
  ///
  /// - Parameters:
  ///   - signature: `RETURN(ARGUMENTS)`, for example `i32(&i32,&i32)`; arguments may be numbers, `pointer`, `handle`, `cstring`,
  ///     `&T`, and `bytes(N)` or `cstrings(N)`, as many as argument N says, counted from 0. Filled are `out(N)`, with at most as many
  ///     bytes as argument N says, and `out T`.
  ///   - body: Called for each call of the plugin's, one at a time. The call's limits go on meanwhile.
  /// - Returns: The argument.
  public static func callback(
    _ signature: String, _ body: @escaping @Sendable ([CallValue]) async throws -> CallArgument
  ) -> CallArgument {
    .callback(PluginCallback(signature: signature, body: body))
  }

  /// An argument that its type in the signature can't take.
  public struct MisfitError: Error, Sendable, CustomStringConvertible {
    public var description: String
  }

  /// What it becomes where it holds nothing of the plugin's; nil where it doesn't fit.
  func value(for kind: CallSignature.Kind) -> CallValue? {
    switch kind {
    case .i8: signed(Int64(Int8.min)...Int64(Int8.max))
    case .i16: signed(Int64(Int16.min)...Int64(Int16.max))
    case .i32: signed(Int64(Int32.min)...Int64(Int32.max))
    case .i64: signed(.min ... .max)
    case .u8: unsigned(0xff)
    case .u16: unsigned(0xffff)
    case .u32: unsigned(0xffff_ffff)
    case .u64: unsigned(.max)
    case .pointer: self == .null ? .pointer(0) : whole.map { .pointer($0) }
    // What is too large for it would become infinity.
    case .f32: single.map { .single($0) }
    case .f64: number.map { .double($0) }
    case .cstring, .bytes: raw(kind)
    case .void, .out, .inOut, .handle, .callback, .structure, .reference: nil
    }
  }

  private func signed(_ range: ClosedRange<Int64>) -> CallValue? {
    switch self {
    case .integer(let value) where range.contains(value): .signed(value)
    case .unsigned(let value): Int64(exactly: value).flatMap { range.contains($0) ? .signed($0) : nil }
    default: nil
    }
  }

  private func unsigned(_ highest: UInt64) -> CallValue? {
    whole.flatMap { $0 <= highest ? .unsigned($0) : nil }
  }

  private var whole: UInt64? {
    switch self {
    case .integer(let value): UInt64(exactly: value)
    case .unsigned(let value): value
    default: nil
    }
  }

  /// A whole number is passed as it is or not at all. Any other is the nearest that the type has, as in C.
  private var single: Float? {
    switch self {
    case .integer(let value): Float(exactly: value)
    case .unsigned(let value): Float(exactly: value)
    case .double(let value): value.isFinite && !Float(value).isFinite ? nil : Float(value)
    default: nil
    }
  }

  private var number: Double? {
    switch self {
    case .integer(let value): Double(exactly: value)
    case .unsigned(let value): Double(exactly: value)
    case .double(let value): value
    default: nil
    }
  }

  /// As text or bytes.
  func raw(_ kind: CallSignature.Kind) -> CallValue? {
    switch self {
    case .text(let text):
      kind == .cstring ? (text.utf8.contains(0) ? nil : .cstring(Array(text.utf8))) : .bytes(Array(text.utf8))
    case .bytes(let bytes): kind == .cstring ? (bytes.contains(0) ? nil : .cstring(bytes)) : .bytes(bytes)
    case .null: .cstring(nil)
    case .list(let values) where kind == .bytes: Self.bytes(values).map { .bytes($0) }
    default: nil
    }
  }

  private static func bytes(_ values: [CallArgument]) -> [UInt8]? {
    var bytes: [UInt8] = []
    for value in values {
      guard let byte = value.whole.flatMap(UInt8.init(exactly:)) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  /// Whether it names something that its caller holds of the plugin.
  var isHeld: Bool {
    switch self {
    case .handle, .memory, .callback: true
    case .list(let values): values.contains(where: \.isHeld)
    default: false
    }
  }
}

extension CallArgument: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByArrayLiteral, ExpressibleByNilLiteral
{
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(stringLiteral value: String) { self = .text(value) }
  /// The fields of a structure, the elements of an array, or bytes.
  public init(arrayLiteral elements: CallArgument...) { self = .list(elements) }
  /// NULL. Where an optional `CallArgument` is asked for, `nil` is none at all.
  ///
  /// - Parameter nilLiteral: Nothing.
  public init(nilLiteral: ()) { self = .null }
}
