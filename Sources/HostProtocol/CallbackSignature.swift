/// The type of a function of the host's that a plugin is given to call, `RETURN(ARGUMENTS)`.
package struct CallbackSignature: Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable, CustomStringConvertible {
    case number(CallLayout.Scalar)
    case cstring
    /// The address of a value, which is read.
    case reference(CallLayout)
    /// The address of as many bytes as another argument says.
    case bytes(count: Int)
    /// The address of as many addresses of strings as another argument says.
    case strings(count: Int)
    /// The address of room for as many bytes as another argument says, which the callback fills.
    case room(count: Int)
    /// The address of a value, which the callback writes.
    case output(CallLayout)

    /// Whether the callback says what lies there afterwards.
    package var isFilled: Bool {
      switch self {
      case .room, .output: true
      case .number, .cstring, .reference, .bytes, .strings: false
      }
    }

    package var description: String {
      switch self {
      case .number(let scalar): scalar.rawValue
      case .cstring: "cstring"
      case .reference(let layout): "&\(layout)"
      case .bytes(let count): "bytes(\(count))"
      case .strings(let count): "cstrings(\(count))"
      case .room(let count): "out(\(count))"
      case .output(let layout): "out \(layout)"
      }
    }
  }

  package static let maxArguments = 16
  /// Bytes of what one argument points to, and of all that one call fills.
  package static let longestContent = 1 << 20
  /// Strings of one argument.
  package static let maxStrings = 4096

  /// nil: nothing.
  package var result: CallLayout.Scalar?
  package var arguments: [Kind]

  package init(result: CallLayout.Scalar?, arguments: [Kind]) {
    self.result = result
    self.arguments = arguments
  }

  package var description: String {
    "\(result?.rawValue ?? "void")(\(arguments.map(\.description).joined(separator: ",")))"
  }

  package init(parsing text: String) throws(CallSignature.ParseError) {
    guard text.utf8.count <= CallSignature.longestText else { throw SignatureParser.isNone(text) }
    var parser = SignatureParser(text)
    (result, arguments) = try parser.callback()
    guard arguments.count <= Self.maxArguments else {
      throw CallSignature.ParseError(
        description: "a callback has at most \(Self.maxArguments) arguments; this one has \(arguments.count)")
    }
    for case .bytes(let count) in arguments { try checkCount(count) }
    for case .strings(let count) in arguments { try checkCount(count) }
    for case .room(let count) in arguments { try checkCount(count) }
  }

  private func checkCount(_ index: Int) throws(CallSignature.ParseError) {
    if arguments.indices.contains(index), case .number(let scalar) = arguments[index], scalar.isInteger { return }
    throw CallSignature.ParseError(
      description:
        "bytes(N), cstrings(N) and out(N) name the argument that counts them, from 0 on; \(index) is no integer")
  }

  /// How many handles one call brings.
  package var handles: Int {
    arguments.reduce(0) { sum, kind in
      switch kind {
      case .number(.handle): sum + 1
      case .reference(let layout): sum + layout.handles
      default: sum
      }
    }
  }

  /// For each argument that a callback fills, in their order, how many bytes it may have at most. `arguments`: as they came.
  package func capacities(of arguments: [CallValue]) -> [Int] {
    zip(self.arguments, arguments).compactMap { kind, value in
      switch kind {
      case .room(let index):
        value == .pointer(0)
          ? 0 : min(arguments.indices.contains(index) ? arguments[index].count ?? 0 : 0, Self.longestContent)
      case .output(let layout): value == .pointer(0) ? 0 : layout.size
      case .number, .cstring, .reference, .bytes, .strings: nil
      }
    }
  }

  /// What came, as it is to be read; nil where the arguments aren't of that type. Our runner makes no others; a plugin that writes
  /// into the channel may. `handle`: what stands for the address in a handle's place.
  package func values(of arguments: [CallValue], handle: (UInt64) -> CallValue) -> [CallValue]? {
    guard arguments.count == self.arguments.count else { return nil }
    var values: [CallValue] = []
    for (value, kind) in zip(arguments, self.arguments) {
      guard let value = Self.value(value, kind, arguments, handle) else { return nil }
      values.append(value)
    }
    return values
  }

  /// Of arguments that aren't of that type, what is wrong.
  package func misfit(of values: [CallValue]) -> String {
    if values.count == arguments.count {
      for (index, kind) in arguments.enumerated() {
        let counted: (by: Int, most: Int)
        switch kind {
        case .bytes(let number), .room(let number): counted = (number, kind.isFilled ? .max : Self.longestContent)
        case .strings(let number): counted = (number, Self.maxStrings)
        case .number, .cstring, .reference, .output: continue
        }
        guard values.indices.contains(counted.by) else { continue }
        let most = counted.most == .max ? "" : ", of which there are at most \(counted.most)"
        switch values[counted.by] {
        case .signed(let count) where count < 0 || count > counted.most:
          return "\(count) as argument \(counted.by), which counts argument \(index), \(kind)\(most)"
        case .unsigned(let count) where count > UInt64(counted.most):
          return "\(count) as argument \(counted.by), which counts argument \(index), \(kind)\(most)"
        default: break
        }
      }
    }
    return "other arguments than \(self)"
  }

  private static func value(
    _ value: CallValue, _ kind: Kind, _ all: [CallValue], _ handle: (UInt64) -> CallValue
  ) -> CallValue? {
    switch (kind, value) {
    case (.number(.handle), .pointer(let address)): return handle(address)
    case (.number(let scalar), _): return scalar.fits(value) ? value : nil
    case (.cstring, .cstring(let text)):
      return text.map { $0.count <= CallSignature.longestString && !$0.contains(0) } ?? true ? value : nil
    // A pointer that lies there may be NULL itself.
    case (.reference(.scalar(.pointer)), .cstring(nil)): return value
    case (.reference, .cstring(nil)), (.bytes, .cstring(nil)), (.strings, .cstring(nil)): return .pointer(0)
    case (.reference(let layout), .bytes(let bytes)) where bytes.count == layout.size:
      return layout.value(in: bytes, handle: handle)
    case (.bytes(let index), .bytes(let bytes)) where all[index].count == bytes.count: return value
    case (.strings(let index), .bytes(let bytes)):
      guard let texts = try? Self.strings(in: bytes), all[index].count == texts.count else { return nil }
      return .array(texts.map { .cstring($0) })
    case (.room(let index), .pointer): return all[index].count == nil ? nil : value
    case (.output, .pointer): return value
    default: return nil
    }
  }

  /// Strings, or NULL in place of one, as they cross.
  package static func bytes(of strings: [[UInt8]?]) -> [UInt8] {
    var writer = ByteWriter()
    writer.array(strings) { $0.optional($1) { $0.data($1) } }
    return writer.bytes
  }

  private static func strings(in bytes: [UInt8]) throws(ProtocolViolation) -> [[UInt8]?] {
    var reader = ByteReader(bytes)
    let texts = try reader.array { (reader) throws(ProtocolViolation) in
      try reader.optional { (reader) throws(ProtocolViolation) in try reader.data() }
    }
    try reader.end()
    return texts
  }
}

extension CallValue {
  /// What an integer counts; nil for what can't.
  package var count: Int? {
    switch self {
    case .signed(let value): Int(exactly: value).flatMap { $0 >= 0 ? $0 : nil }
    case .unsigned(let value): Int(exactly: value)
    default: nil
    }
  }
}

extension CallLayout.Scalar {
  var isInteger: Bool {
    switch self {
    case .i8, .u8, .i16, .u16, .i32, .u32, .i64, .u64: true
    case .f32, .f64, .pointer, .handle: false
    }
  }

  /// Whether a value is one of these, and within their range.
  package func fits(_ value: CallValue) -> Bool {
    switch (self, value) {
    case (.i64, .signed), (.u64, .unsigned), (.f32, .single), (.f64, .double), (.pointer, .pointer),
      (.handle, .pointer):
      true
    case (.i8, .signed(let value)): Int8(exactly: value) != nil
    case (.i16, .signed(let value)): Int16(exactly: value) != nil
    case (.i32, .signed(let value)): Int32(exactly: value) != nil
    case (.u8, .unsigned(let value)): UInt8(exactly: value) != nil
    case (.u16, .unsigned(let value)): UInt16(exactly: value) != nil
    case (.u32, .unsigned(let value)): UInt32(exactly: value) != nil
    default: false
    }
  }
}
