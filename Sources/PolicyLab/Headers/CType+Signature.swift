package import HostProtocol

extension CType {
  /// Why a call can't pass something.
  package struct Unfit: Error {
    package let reason: String
  }

  package func kind(isResult: Bool) throws(Unfit) -> CallSignature.Kind {
    switch bare {
    case .void:
      guard isResult else { throw Unfit(reason: "an argument has no type") }
      return .void
    case .base(let name, let size, let encoding): return try Self.number(name, size, encoding)
    case .enumeration(let name, let size, let isSigned):
      return try Self.number(name, size == 0 ? 4 : size, isSigned ? 5 : 7)
    case .pointer(let target):
      if target.isCharacter, isResult || target.isConstant { return .cstring }
      // What is only read can be handed over.
      if !isResult, target.isConstant, target.isBytes { return .bytes }
      return .pointer
    case .record(_, let record?): return .structure(try record.layout())
    case .record(let name, nil), .function(let name, _), .other(let name):
      throw Unfit(reason: "\(name) is passed by value")
    case .array(let element, _): throw Unfit(reason: "an array of \(element.words) is passed by value")
    case .named, .constant: throw Unfit(reason: "a type names itself")
    }
  }

  private static func number(_ name: String, _ size: UInt64, _ encoding: UInt64) throws(Unfit) -> CallSignature.Kind {
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
    default: throw Unfit(reason: "\(name.isEmpty ? "a type" : name) is no number that a call can pass")
    }
  }

  /// How a field of this type lies.
  func layout(depth: Int) throws(Unfit) -> CallLayout {
    switch bare {
    case .pointer: return .scalar(.pointer)
    case .record(_, let record?): return try record.layout(depth: depth)
    case .array(let element, let count):
      let layout = depth < CRecord.maxDepth ? try element.layout(depth: depth + 1) : nil
      guard let layout, (1...UInt64(CallLayout.largestByValue)).contains(count),
        layout.size * Int(count) <= CallLayout.largestByValue
      else { throw Unfit(reason: "an array of \(element.words) is passed by value") }
      return .array(layout, count: Int(count))
    default:
      guard let scalar = try kind(isResult: false).scalar else { throw Unfit(reason: "\(words) is passed by value") }
      return .scalar(scalar)
    }
  }

  /// How it is passed, whatever it means: two descriptions of one function agree where these do.
  var passing: String {
    switch bare {
    case .pointer, .array: "pointer"
    // Debug information seldom says whether one has a sign.
    case .enumeration(_, let size, _): "integer of \(size == 0 ? 4 : size) bytes"
    case .base(_, let size, 4): "floating-point number of \(size) bytes"
    case .base(_, let size, _): "integer of \(size) bytes"
    case .record: "structure"
    case .void: "nothing"
    default: "?"
    }
  }
}

extension CFunction {
  package func signature() throws(CType.Unfit) -> CallSignature {
    guard parameters.count <= CallSignature.maxArguments else { throw .init(reason: "it takes too many arguments") }
    var kinds: [CallSignature.Kind] = []
    for parameter in parameters { kinds.append(try parameter.type.kind(isResult: false)) }
    let signature = CallSignature(result: try result.kind(isResult: true), arguments: kinds)
    guard signature.description.utf8.count <= CallSignature.longestText else {
      throw .init(reason: "its signature has more than \(CallSignature.longestText) bytes")
    }
    return signature
  }

  /// What `other` says otherwise of the same function; nil: nothing that changes how it is called.
  func mismatch(with other: CFunction) -> String? {
    if result.passing != other.result.passing {
      return "it returns \(result.words), and \(other.result.words) there"
    }
    if parameters.count != other.parameters.count {
      return "it takes \(parameters.count) arguments, and \(other.parameters.count) there"
    }
    for (index, pair) in zip(parameters, other.parameters).enumerated() {
      let (own, others) = (pair.0.type, pair.1.type)
      if own.passing != others.passing { return "argument \(index + 1) is \(own.words), and \(others.words) there" }
    }
    return isVariadic == other.isVariadic ? nil : "it takes \(isVariadic ? "" : "no ")further arguments (...)"
  }
}
