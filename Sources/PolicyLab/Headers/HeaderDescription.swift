/// What C headers declare.
package struct HeaderDescription: Sendable, Equatable {
  package struct Function: Sendable, Equatable {
    package var name: String
    /// What the library calls it.
    package var symbol: String
    package var type: CFunction
    /// `int f();` doesn't say what it takes.
    package var hasPrototype: Bool
  }

  package struct Enumeration: Sendable, Equatable {
    /// As C spells the type.
    package var name: String
    /// Bytes.
    package var size: UInt64
    package var isSigned: Bool
    package var members: [Member]

    package struct Member: Sendable, Equatable {
      package var name: String
      package var value: Int64
    }
  }

  /// A structure or union, with where its fields lie.
  package struct Record: Sendable, Equatable {
    /// As C spells the type.
    package var name: String
    package var isUnion: Bool
    /// Bytes.
    package var size: UInt64
    package var alignment: UInt64
    package var fields: [Field]

    package struct Field: Sendable, Equatable {
      package var name: String
      /// Bits from the start.
      package var offset: UInt64
      package var isBitField: Bool
      package var type: CType
    }
  }

  /// The first that was declared by each symbol.
  package var functions: [String: Function] = [:]
  package var enumerations: [Enumeration] = []
  package var records: [Record] = []
  /// What the compiler found wrong.
  package var problems: [String] = []
}
