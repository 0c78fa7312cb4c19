internal import HostProtocol

/// What can be told of a library and its functions without running any of it.
package struct LibraryExploration: Sendable, Encodable {
  package struct Function: Sendable, Equatable, Encodable {
    package var name: String
    /// As `outrider call` takes it; nil: nothing says what it is, or no call can pass it.
    package var signature: String?
    /// As in C; nil: nothing says what it is.
    package var prototype: String?
    /// Why there is a prototype and no signature.
    package var problem: String?
  }

  package var facts: LibraryFacts
  package var functions: [Function]

  /// A larger file isn't looked at.
  package static let longest = 512 << 20

  package init(_ bytes: [UInt8]) {
    let file = LibraryBytes(bytes: bytes)
    facts = LibraryFacts(file)
    let debug = DebugInformation(file, facts)
    functions = facts.functions.map { name in
      guard let found = debug.functions[name] else { return Function(name: name) }
      var function = Function(name: name, prototype: found.prototype(of: name))
      do throws(DebugInformation.Unfit) {
        function.signature = try found.signature().description
      } catch {
        function.problem = error.reason
      }
      return function
    }
  }
}

extension DebugInformation {
  /// Why a function can't be called from the command line.
  struct Unfit: Error {
    let reason: String
  }
}

extension DebugInformation.Function {
  func signature() throws(DebugInformation.Unfit) -> CallSignature {
    guard parameters.count <= CallSignature.maxArguments else { throw .init(reason: "it takes too many arguments") }
    var kinds: [CallSignature.Kind] = []
    for parameter in parameters { kinds.append(try parameter.type.kind(isResult: false)) }
    return CallSignature(result: try result.kind(isResult: true), arguments: kinds)
  }

  func prototype(of name: String) -> String {
    let list = parameters.map { parameter in
      let type = parameter.type.words
      return parameter.name.isEmpty ? type : type + (type.hasSuffix("*") ? "" : " ") + parameter.name.prefix(60)
    }
    let all = (list + (isVariadic ? ["..."] : [])).joined(separator: ", ")
    let result = self.result.words
    return result + (result.hasSuffix("*") ? "" : " ") + "\(name)(\(all.isEmpty ? "void" : all))"
  }
}

extension DebugInformation.TypeName {
  /// Without names and qualifiers.
  private var bare: Self {
    switch self {
    case .named(_, let type), .constant(let type): type.bare
    default: self
    }
  }

  private var isConstant: Bool {
    switch self {
    case .constant: true
    case .named(_, let type): type.isConstant
    default: false
    }
  }

  /// DW_ATE_signed_char and DW_ATE_unsigned_char of one byte that C calls char.
  private var isCharacter: Bool {
    if case .base(let name, 1, let encoding) = bare { name == "char" && [6, 8].contains(encoding) } else { false }
  }

  func kind(isResult: Bool) throws(DebugInformation.Unfit) -> CallSignature.Kind {
    switch bare {
    case .void:
      guard isResult else { throw .init(reason: "an argument has no type") }
      return .void
    case .base(let name, let size, let encoding): return try Self.number(name, size, encoding)
    case .enumeration(let name, let size): return try Self.number(name, size == 0 ? 4 : size, 7)
    case .pointer(let target):
      if target.isCharacter, isResult || target.isConstant { return .cstring }
      // What is only read can be handed over.
      if !isResult, target.isConstant, target.isBytes { return .bytes }
      return .pointer
    case .other(let name): throw .init(reason: "\(name) is passed by value")
    case .named, .constant: throw .init(reason: "a type names itself")
    }
  }

  private var isBytes: Bool {
    switch bare {
    case .void: true
    case .base(_, 1, _): true
    default: false
    }
  }

  private static func number(
    _ name: String, _ size: UInt64, _ encoding: UInt64
  ) throws(DebugInformation.Unfit) -> CallSignature.Kind {
    switch (encoding, size) {
    case (4, 4): return .f32
    case (4, 8): return .f64
    case (5, 1), (6, 1): return .i8
    case (5, 2), (6, 2): return .i16
    case (5, 4), (6, 4): return .i32
    case (5, 8): return .i64
    case (7, 1), (8, 1), (2, 1), (16, 1): return .u8
    case (7, 2), (16, 2): return .u16
    case (7, 4), (16, 4): return .u32
    case (7, 8): return .u64
    default: throw .init(reason: "\(name.isEmpty ? "a type" : name) is no number that a call can pass")
    }
  }

  /// As in C, more or less.
  var words: String {
    switch self {
    case .void: "void"
    case .base(let name, _, _): name.isEmpty ? "?" : name
    case .enumeration(let name, _), .other(let name), .named(let name, _): name
    case .constant(.pointer(let target)): Self.pointer(to: target) + "const"
    case .constant(let type): "const \(type.words)"
    case .pointer(let target): Self.pointer(to: target)
    }
  }

  private static func pointer(to target: Self) -> String {
    let words = target.words
    return words.hasSuffix("*") ? words + "*" : words + " *"
  }
}
