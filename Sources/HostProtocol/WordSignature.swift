/// The type of a function whose arguments and result each fit one word. Once a runner knows the function, a call of it crosses as
/// these words alone: nothing is written out, read or looked up.
package struct WordSignature: Sendable, Equatable {
  /// Words that there is room for beside a question.
  package static let maxArguments = 8

  package let arguments: [CallLayout.Scalar]
  /// nil: the function returns nothing.
  package let result: CallLayout.Scalar?

  /// nil where an argument or the result is more than a word.
  package init?(_ signature: CallSignature) {
    let arguments = signature.arguments.compactMap(\.scalar)
    guard arguments.count == signature.arguments.count, arguments.count <= Self.maxArguments,
      signature.result == .void || signature.result.scalar != nil
    else { return nil }
    (self.arguments, result) = (arguments, signature.result.scalar)
  }

  /// What the function returned, by the lowest bytes of a word: whatever that is, the value has the result's type.
  package func value(of word: UInt64) -> CallValue { result?.value(of: word) ?? .void }
}

extension CallValue {
  /// Its bits, where it is one word.
  package var word: UInt64? {
    switch self {
    case .signed(let value): UInt64(bitPattern: value)
    case .unsigned(let value), .pointer(let value): value
    case .single(let value): UInt64(value.bitPattern)
    case .double(let value): value.bitPattern
    case .void, .cstring, .bytes, .handle, .structure, .array: nil
    }
  }
}
