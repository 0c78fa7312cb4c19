internal import HostProtocol

/// A structure or union of C, with where its fields lie.
package struct CRecord: Sendable, Equatable {
  /// As C spells the type.
  package var name: String
  package var isUnion: Bool
  /// Bytes.
  package var size: UInt64
  /// Bytes; nil: nothing says it, and it is that of its fields.
  package var alignment: UInt64?
  package var fields: [Field]

  package struct Field: Sendable, Equatable {
    package var name: String
    /// Bits from the start; nil: nothing says it.
    package var offset: UInt64?
    package var isBitField: Bool
    /// Bytes; nil: nothing says it.
    package var alignment: UInt64?
    package var type: CType
  }

  /// Fields of all structures within each other that one function takes or returns by value. A signature has room for fewer.
  static let maxFields = 512
  /// Structures and arrays within each other.
  static let maxDepth = CallLayout.deepest

  /// As a signature has it. Its description may be anybody's: it holds where each field lies as C compilers would put it.
  func layout(depth: Int = 0) throws(CType.Unfit) -> CallLayout {
    guard !isUnion else { throw .init(reason: "\(name) is passed by value, and no signature has a union") }
    guard depth < Self.maxDepth, !fields.isEmpty else { throw notKnown }
    var layouts: [CallLayout] = []
    var end = 0
    for field in fields {
      guard !field.isBitField else { throw .init(reason: "\(name) is passed by value and has bit fields") }
      let layout = try field.type.layout(depth: depth + 1)
      let start = CallLayout.aligned(end, layout.alignment)
      guard field.offset == UInt64(start) * 8, field.alignment ?? UInt64(layout.alignment) == layout.alignment else {
        throw isOdd
      }
      end = start + layout.size
      guard end <= CallLayout.largestByValue else {
        throw .init(reason: "\(name) is passed by value and has more than \(CallLayout.largestByValue) bytes")
      }
      layouts.append(layout)
    }
    let layout = CallLayout.structure(layouts)
    // A structure with a wider alignment is passed otherwise, even where it has the same size.
    guard UInt64(layout.size) == size, alignment ?? UInt64(layout.alignment) == layout.alignment else { throw isOdd }
    return layout
  }

  private var notKnown: CType.Unfit { .init(reason: "\(name) is passed by value, and nothing says what is in it") }
  private var isOdd: CType.Unfit { .init(reason: "\(name) is passed by value and is packed or aligned in its own way") }
}
