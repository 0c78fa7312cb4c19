/// What C headers declare.
package struct HeaderDescription: Sendable, Equatable {
  package struct Function: Sendable, Equatable {
    package var name: String
    /// What the library calls it.
    package var symbol: String
    package var type: CFunction
    /// `int f();` doesn't say what it takes.
    package var hasPrototype: Bool
    /// Whether it is called as functions of C are.
    package var isUsuallyCalled = true
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

  /// The first that was declared by each symbol.
  package var functions: [String: Function] = [:]
  package var enumerations: [Enumeration] = []
  package var records: [CRecord] = []
  /// What the compiler found wrong.
  package var problems: [String] = []
}

extension HeaderDescription {
  /// Says what is in the structures that functions take and return by value.
  mutating func resolveRecords() {
    let known = Dictionary(records.map { ($0.name, $0) }) { first, _ in first }
    guard !known.isEmpty else { return }
    for (symbol, function) in functions {
      var left = CRecord.maxFields
      var type = function.type
      type.result = type.result.resolved(known, &left)
      for index in type.parameters.indices {
        type.parameters[index].type = type.parameters[index].type.resolved(known, &left)
      }
      functions[symbol]?.type = type
    }
  }
}
