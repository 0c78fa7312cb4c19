internal import AssetModel
internal import Basics
internal import Foundation
package import HostProtocol
package import PluginHost

/// Arguments and results of a call as people write them.
package enum CallWords {
  /// The literal would be an argument, NULL, where an optional one is asked for.
  static let none = CallArgument?.none

  /// nil: it doesn't fit. `content`: of the file that `@FILE` names.
  package static func argument<Failure: Error>(
    _ word: String, _ kind: CallSignature.Kind, _ content: (String) throws(Failure) -> [UInt8]
  ) throws(Failure) -> CallArgument? {
    switch kind {
    case .cstring: return word.utf8.contains(0) ? none : .text(word)
    case .bytes: return try bytes(word, content)
    case .inOut(let size):
      let argument = try bytes(word, content)
      return argument.map { $0.count } ?? 0 <= size ? argument : none
    case .reference(.input, _) where word == "null": return .null
    case .structure(let layout), .reference(_, let layout): return LayoutWords.argument(word, layout)
    default: return number(word, kind)
    }
  }

  /// One for each argument that is given, to be written over.
  package static func placeholders(_ signature: String) -> [String] {
    guard let signature = try? CallSignature(parsing: signature) else { return [] }
    return signature.given.map { kind in
      switch kind {
      case .cstring, .bytes, .inOut: "text"
      case .structure(let layout), .reference(_, let layout): LayoutWords.text(of: layout, placeholder)
      default: placeholder(kind)
      }
    }
  }

  private static func placeholder(_ kind: CallSignature.Kind) -> String {
    switch kind {
    case .pointer, .handle, .callback: "null"
    default: "0"
    }
  }

  private static func bytes<Failure: Error>(
    _ word: String, _ content: (String) throws(Failure) -> [UInt8]
  ) throws(Failure) -> CallArgument? {
    if word.hasPrefix("hex:") { return Hexadecimal.bytes(word.dropFirst(4)).map { .bytes($0) } }
    guard word.hasPrefix("@") else { return .text(word) }
    return .bytes(try content(String(word.dropFirst())))
  }

  /// What fits one register; nil where it doesn't.
  static func number(_ word: String, _ kind: CallSignature.Kind) -> CallArgument? {
    switch kind {
    case .i8, .i16, .i32, .i64, .u8, .u16, .u32, .u64: fits(integer(word), kind)
    case .pointer: word == "null" ? .null : integer(word)
    // A command line has none to pass.
    case .handle, .callback: word == "null" ? .null : none
    case .f32, .f64: float(word, kind)
    case .void, .cstring, .bytes, .out, .inOut, .structure, .reference: none
    }
  }

  package static func text(of value: CallValue) -> String {
    switch value {
    case .void: "void"
    case .signed(let value): "\(value)"
    case .unsigned(let value): "\(value)"
    case .single(let value): "\(value)"
    case .double(let value): "\(value)"
    case .pointer(let value): "0x" + String(value, radix: 16)
    case .cstring(nil): "null"
    case .cstring(let bytes?): Printable.text(String(decoding: bytes, as: UTF8.self), limit: 65536)
    case .bytes(let bytes): Hexadecimal.text(bytes)
    case .handle(let handle): handle.map { "\($0)" } ?? "null"
    case .structure(let fields): "{\(fields.map(text).joined(separator: ", "))}"
    case .array(let elements): "[\(elements.map(text).joined(separator: ", "))]"
    }
  }

  /// What is too large for its type isn't taken for infinity, which has a name of its own.
  private static func float(_ word: String, _ kind: CallSignature.Kind) -> CallArgument? {
    guard let value = Double(word) else { return nil }
    let isFinite = value.isFinite && (kind == .f64 || Float(value).isFinite)
    return isFinite || !word.contains(where: \.isNumber) ? .double(value) : none
  }

  private static func integer(_ word: String) -> CallArgument? {
    if word.hasPrefix("0x") {
      let digits = word.dropFirst(2)
      return digits.allSatisfy(\.isHexDigit) ? UInt64(digits, radix: 16).map { .unsigned($0) } : none
    }
    if let value = Int64(word) { return .integer(value) }
    return UInt64(word).map { .unsigned($0) }
  }

  private static func fits(_ argument: CallArgument?, _ kind: CallSignature.Kind) -> CallArgument? {
    guard let argument else { return nil }
    let (low, high): (Int64, UInt64) =
      switch kind {
      case .i8: (-128, 127)
      case .i16: (-32768, 32767)
      case .i32: (Int64(Int32.min), UInt64(Int32.max))
      case .i64: (.min, UInt64(Int64.max))
      case .u8: (0, 0xff)
      case .u16: (0, 0xffff)
      case .u32: (0, 0xffff_ffff)
      default: (0, .max)
      }
    switch argument {
    case .integer(let value): return value >= low && (value < 0 || UInt64(value) <= high) ? argument : none
    case .unsigned(let value): return value <= high ? argument : none
    default: return nil
    }
  }
}

extension CallArgument {
  /// Bytes of text or bytes.
  fileprivate var count: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    default: 0
    }
  }
}
