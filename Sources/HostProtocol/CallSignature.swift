/// A function's type in text, `RETURN(ARGUMENTS)`: how plugins publish entry points and people name functions.
package struct CallSignature: Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable, CustomStringConvertible {
    case void, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, pointer, cstring, bytes
    /// A pointer that the caller sees as a number alone.
    case handle
    /// The address of a function of the host's.
    case callback
    /// A buffer of so many zero bytes whose address is passed and whose content comes back after the call.
    case out(Int)
    /// The same with bytes that are given.
    case inOut(Int)
    /// By value.
    case structure(CallLayout)
    /// By its address.
    case reference(Passing, CallLayout)

    package enum Passing: String, Sendable, CaseIterable {
      /// Given, and left as it is.
      case input = "&"
      /// Zero bytes at first; what they have become comes back.
      case output = "out "
      /// Given; what it has become comes back.
      case inOut = "inout "
    }

    static let named: [String: Kind] = [
      "void": .void, "i8": .i8, "u8": .u8, "i16": .i16, "u16": .u16, "i32": .i32, "u32": .u32, "i64": .i64, "u64": .u64,
      "f32": .f32, "f64": .f64, "pointer": .pointer, "cstring": .cstring, "bytes": .bytes, "handle": .handle,
      "callback": .callback,
    ]

    package var description: String {
      switch self {
      case .out(let size): "out(\(size))"
      case .inOut(let size): "inout(\(size))"
      case .structure(let layout): layout.description
      case .reference(let passing, let layout): passing.rawValue + layout.description
      default: Self.named.first { $0.value == self }?.key ?? "?"
      }
    }

    /// Whether the caller gives an argument for it.
    package var isGiven: Bool {
      switch self {
      case .out, .reference(.output, _): false
      default: true
      }
    }

    /// Bytes that come back in it; nil where nothing does.
    package var outputSize: Int? {
      switch self {
      case .out(let size), .inOut(let size): size
      case .reference(.output, let layout), .reference(.inOut, let layout): layout.size
      default: nil
      }
    }

    /// What is more than bytes and numbers: its values are made by its layout, or by the handles that are known.
    package var isComposed: Bool {
      switch self {
      case .handle, .structure, .reference: true
      default: false
      }
    }
  }

  /// Bytes that one `out(N)` may have; what a run takes of all together is `Limits.frameBytes`.
  package static let longestOut = 1 << 30
  package static let maxArguments = 32
  /// Bytes of a returned string that are read at most.
  package static let longestString = 64 << 10
  package static let longestText = 1024

  package var result: Kind
  package var arguments: [Kind]

  package init(result: Kind, arguments: [Kind]) {
    self.result = result
    self.arguments = arguments
  }

  package var description: String { "\(result)(\(arguments.map(\.description).joined(separator: ",")))" }

  /// The kinds of the arguments that the caller gives.
  package var given: [Kind] { arguments.filter(\.isGiven) }

  /// The kinds of the arguments that come back.
  package var outputs: [Kind] { arguments.filter { $0.outputSize != nil } }

  package var isComposed: Bool { result.isComposed || arguments.contains(where: \.isComposed) }

  /// Handles that a call may bring.
  package var handles: Int {
    outputs.reduce(result == .handle ? 1 : 0) { sum, kind in
      if case .reference(_, let layout) = kind { sum + layout.handles } else { sum }
    }
      + { if case .structure(let layout) = result { layout.handles } else { 0 } }()
  }

  /// Bytes that a frame with what it returns has at most.
  package var longestAnswer: Int {
    // The value with its kind, three counts of lists, a byte for no decision, and a count before each buffer.
    let value =
      switch result {
      case .cstring: 6 + Self.longestString
      case .structure(let layout): 5 + layout.size
      default: 9
      }
    return arguments.reduce(value + 13) { if let size = $1.outputSize { $0 + 4 + size } else { $0 } }
  }

  package struct ParseError: Error, Equatable, CustomStringConvertible {
    package var description: String
  }

  /// Parses for example `u64(u64,bytes,u32)`; spaces are ignored. `i32()` and `i32(void)` take nothing.
  package init(parsing text: String) throws(ParseError) {
    guard text.utf8.count <= Self.longestText else {
      throw ParseError(
        description: "a signature has at most \(Self.longestText) bytes; this one has \(text.utf8.count)")
    }
    var parser = SignatureParser(text)
    (result, arguments) = try parser.signature()
    guard arguments.count <= Self.maxArguments else {
      throw ParseError(
        description: "a signature has at most \(Self.maxArguments) arguments; this one has \(arguments.count)")
    }
  }

  /// Parses the type of what lies in memory, for example `{i32,f64,[4]u8}`.
  package static func layout(parsing text: String) throws(ParseError) -> CallLayout {
    guard text.utf8.count <= longestText else {
      throw ParseError(description: "a type has at most \(longestText) bytes; this one has \(text.utf8.count)")
    }
    var parser = SignatureParser(text)
    return try parser.wholeLayout()
  }
}
