/// A function's type in text, `RETURN(ARGUMENTS)`: how plugins publish entry points and people name functions.
package struct CallSignature: Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable, CustomStringConvertible {
    case void, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, pointer, cstring, bytes
    /// A buffer of so many zero bytes whose address is passed and whose content comes back after the call.
    case out(Int)

    static let named: [String: Kind] = [
      "void": .void, "i8": .i8, "u8": .u8, "i16": .i16, "u16": .u16, "i32": .i32, "u32": .u32, "i64": .i64, "u64": .u64,
      "f32": .f32, "f64": .f64, "pointer": .pointer, "cstring": .cstring, "bytes": .bytes,
    ]

    package var description: String {
      if case .out(let size) = self { return "out(\(size))" }
      return Self.named.first { $0.value == self }?.key ?? "?"
    }
  }

  /// Bytes that one `out(N)` may have; what a run takes of all together is `Limits.frameBytes`.
  package static let longestOut = 1 << 30
  package static let maxArguments = 32
  /// Bytes of a returned string that are read at most.
  package static let longestString = 64 << 10

  package var result: Kind
  package var arguments: [Kind]

  package init(result: Kind, arguments: [Kind]) {
    self.result = result
    self.arguments = arguments
  }

  package var description: String { "\(result)(\(arguments.map(\.description).joined(separator: ",")))" }

  /// Bytes that a frame with what it returns has at most.
  package var longestAnswer: Int {
    // The value with its kind, three counts of lists, a byte for no decision, and a count before each buffer.
    let value = result == .cstring ? 6 + Self.longestString : 9
    return arguments.reduce(value + 13) { if case .out(let size) = $1 { $0 + 4 + size } else { $0 } }
  }

  package struct ParseError: Error, Equatable, CustomStringConvertible {
    package var description: String
  }

  /// Parses for example `u64(u64,bytes,u32)`; spaces are ignored. `i32()` and `i32(void)` take nothing.
  package init(parsing text: String) throws(ParseError) {
    let compact = String(text.filter { $0 != " " })
    guard text.utf8.count <= 1024, let open = compact.firstIndex(of: "("), compact.hasSuffix(")") else {
      throw ParseError(description: "signature '\(text.prefix(80))' isn't RETURN(ARGUMENTS), for example i32(i32)")
    }
    result = try Self.kind(String(compact[..<open]), isResult: true)
    let inside = compact[compact.index(after: open)...].dropLast()
    arguments = []
    if inside.isEmpty || inside == "void" { return }
    for word in inside.split(separator: ",", omittingEmptySubsequences: false) {
      arguments.append(try Self.kind(String(word), isResult: false))
    }
    guard arguments.count <= Self.maxArguments else {
      throw ParseError(
        description: "a signature has at most \(Self.maxArguments) arguments; this one has \(arguments.count)")
    }
  }

  private static func kind(_ word: String, isResult: Bool) throws(ParseError) -> Kind {
    let known = "void i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 pointer cstring bytes out(N)"
    if let kind = Kind.named[word] {
      if kind == .void, !isResult { throw ParseError(description: "void can't be one of several arguments") }
      if kind == .bytes, isResult { throw ParseError(description: "bytes can't be returned; use pointer or cstring") }
      return kind
    }
    if word.hasPrefix("out("), word.hasSuffix(")"), let size = Int(word.dropFirst(4).dropLast()) {
      guard !isResult else { throw ParseError(description: "out(N) can't be returned; it is an argument") }
      guard (1...longestOut).contains(size) else {
        throw ParseError(description: "out(\(size)): a buffer has 1 to \(longestOut) bytes")
      }
      return .out(size)
    }
    throw ParseError(description: "'\(word.prefix(40))' isn't a type; the types are \(known)")
  }
}
