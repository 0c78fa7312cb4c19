internal import HostProtocol

/// A number of C, as Swift has it.
struct BoundNumber: Equatable {
  var kind: CallSignature.Kind
  /// Swift's own type.
  var swift: String
  /// The enumeration that it is the value of.
  var enumeration: String?

  /// nil: it isn't a number that a call can pass.
  init?(_ type: CType) {
    let bare = type.bare
    switch bare {
    case .enumeration(let name, _, _): enumeration = SwiftName.tag(name) ?? type.typedefName
    case .base: break
    default: return nil
    }
    guard let kind = try? bare.kind(isResult: false) else { return nil }
    self.kind = kind
    switch (bare, kind) {
    case (.base(_, _, 2), _): swift = "Bool"
    case (.base("long", _, _), _): swift = "Int"
    case (.base("unsigned long", _, _), _), (.base("long unsigned int", _, _), _): swift = "UInt"
    case (_, .i8): swift = "Int8"
    case (_, .u8): swift = "UInt8"
    case (_, .i16): swift = "Int16"
    case (_, .u16): swift = "UInt16"
    case (_, .i32): swift = "Int32"
    case (_, .u32): swift = "UInt32"
    case (_, .i64): swift = "Int64"
    case (_, .u64): swift = "UInt64"
    case (_, .f32): swift = "Float"
    case (_, .f64): swift = "Double"
    default: return nil
    }
  }

  var isSigned: Bool { [.i8, .i16, .i32, .i64].contains(kind) }
  var isFloating: Bool { kind == .f32 || kind == .f64 }
  var isInteger: Bool { !isFloating && swift != "Bool" && enumeration == nil }

  /// As a parameter or result has it.
  var name: String { enumeration.map { "Types.\($0)" } ?? swift }

  /// As an argument of a call.
  func argument(_ value: String) -> String {
    let number = enumeration == nil ? value : "\(value).rawValue"
    if swift == "Bool" { return ".unsigned(\(number) ? 1 : 0)" }
    return isFloating
      ? ".double(Double(\(number)))" : isSigned ? ".integer(Int64(\(number)))" : ".unsigned(UInt64(\(number)))"
  }
}

extension CType {
  /// The first name that it has.
  var typedefName: String? {
    switch self {
    case .named(let name, _): SwiftName.type(name)
    case .constant(let type): type.typedefName
    default: nil
    }
  }

  /// What Swift calls the thing that an address leads to; nil: nothing that it could be called by.
  var pointee: String? {
    switch bare {
    case .record(let name, _), .enumeration(let name, _, _): SwiftName.tag(name) ?? typedefName
    default: nil
    }
  }

  /// What a pointer leads to; nil for anything else.
  var target: CType? {
    switch bare {
    case .pointer(let target), .array(let target, _): target
    default: nil
    }
  }
}
