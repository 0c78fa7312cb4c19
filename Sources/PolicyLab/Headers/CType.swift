/// A type of C as far as a call needs it, told by a library's debug information or by its header.
package indirect enum CType: Sendable, Equatable {
  case void
  /// Size in bytes, and what its bits mean as DWARF numbers it (DW_ATE).
  case base(String, size: UInt64, encoding: UInt64)
  case pointer(CType)
  case constant(CType)
  /// A typedef.
  case named(String, CType)
  case enumeration(String, size: UInt64, isSigned: Bool)
  /// A structure or union, with the word before its name; and what is in it, where it is passed by value and that is known.
  case record(String, CRecord? = nil)
  /// What a pointer to a function leads to, as C spells it; and what it takes and returns, where that is known.
  case function(String, CFunction? = nil)
  case array(CType, count: UInt64)
  /// What no call can pass.
  case other(String)

  /// Without names and qualifiers.
  package var bare: Self {
    switch self {
    case .named(_, let type), .constant(let type): type.bare
    default: self
    }
  }

  package var isConstant: Bool {
    switch self {
    case .constant: true
    case .named(_, let type): type.isConstant
    default: false
    }
  }

  /// DW_ATE_signed_char and DW_ATE_unsigned_char of one byte that C calls char.
  package var isCharacter: Bool {
    if case .base(let name, 1, let encoding) = bare { name == "char" && [6, 8].contains(encoding) } else { false }
  }

  /// `left`: fields that may still be added: a description could have each structure hold many of another.
  func resolved(_ known: [String: CRecord], _ left: inout Int, depth: Int = 0) -> Self {
    switch self {
    case .named(let name, let type): return .named(name, type.resolved(known, &left, depth: depth))
    case .constant(let type): return .constant(type.resolved(known, &left, depth: depth))
    case .array(let element, let count): return .array(element.resolved(known, &left, depth: depth), count: count)
    case .record(let name, nil):
      guard var record = known[name], depth < CRecord.maxDepth, record.fields.count <= left else { return self }
      left -= record.fields.count
      for index in record.fields.indices {
        record.fields[index].type = record.fields[index].type.resolved(known, &left, depth: depth + 1)
      }
      return .record(name, record)
    default: return self
    }
  }

  /// Whether a pointer to it is one to bytes of any kind.
  package var isBytes: Bool {
    switch bare {
    case .void: true
    case .base(_, 1, let encoding): encoding != 2
    default: false
    }
  }
}

/// A function of C.
package struct CFunction: Sendable, Equatable {
  package var result: CType
  package var parameters: [CParameter]
  package var isVariadic: Bool
}

/// A parameter of one; without a name where none is given.
package struct CParameter: Sendable, Equatable {
  package var name: String
  package var type: CType
  /// Of an address that was declared as an array: how many elements that has.
  package var count: UInt64?
}
