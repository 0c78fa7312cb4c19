internal import AssetModel

/// Reads what `HeaderReader/reader.c` wrote, inside the walls: by then a header may have taken that process over, so that nothing
/// of it is believed. Lines in prefix notation: a line that begins something says what follows.
struct HeaderDecoder {
  /// A line that isn't what it has to be there.
  struct Violation: Error, Equatable {
    let line: Int
    let expected: String
  }

  static let longest = 16 << 20
  private static let longestLine = 400
  private static let maxDepth = 32
  private static let maxParameters = 256
  private static let maxMembers = 65_536
  private static let maxDeclarations = 262_144
  private static let maxProblems = 20

  private let bytes: ArraySlice<UInt8>
  private var at: Int
  private var line = 0

  static func description(_ bytes: [UInt8]) throws(Violation) -> HeaderDescription {
    guard bytes.count <= longest else { throw Violation(line: 0, expected: "at most \(longest) bytes") }
    var decoder = Self(bytes: bytes[...], at: 0)
    return try decoder.description()
  }

  private init(bytes: ArraySlice<UInt8>, at: Int) { (self.bytes, self.at) = (bytes, at) }

  private mutating func description() throws(Violation) -> HeaderDescription {
    guard try word() == "outrider-headers 3" else { throw violation("the first line") }
    var result = HeaderDescription()
    for _ in 0..<Self.maxDeclarations {
      let kind = try word()
      // A compiler that has found an error goes on with names and types of its own.
      if kind != "diagnostic", !result.problems.isEmpty { return result }
      switch kind {
      case "diagnostic":
        let text = try word()
        if result.problems.count < Self.maxProblems { result.problems.append(Printable.text(text, limit: 300)) }
      case "function":
        let function = try function()
        if result.functions[function.symbol] == nil { result.functions[function.symbol] = function }
      case "enum": result.enumerations.append(try enumeration())
      case "struct": result.records.append(try record(isUnion: false))
      case "union": result.records.append(try record(isUnion: true))
      case "end":
        guard at == bytes.endIndex else { throw violation("nothing after the end") }
        result.resolveRecords()
        return result
      default: throw violation("a declaration")
      }
    }
    throw violation("at most \(Self.maxDeclarations) declarations")
  }

  private mutating func function() throws(Violation) -> HeaderDescription.Function {
    let name = try identifier()
    // An assembler's name may be anything.
    let symbol = try word()
    let isVariadic = try flag()
    let hasPrototype = try !flag()
    let isUsuallyCalled = try flag()
    let result = try type()
    var parameters: [CParameter] = []
    for _ in 0..<(try count(upTo: Self.maxParameters)) {
      let name = try identifier(orNone: true)
      parameters.append(CParameter(name: name, declared: try type()))
    }
    return HeaderDescription.Function(
      name: name, symbol: symbol, type: CFunction(result: result, parameters: parameters, isVariadic: isVariadic),
      hasPrototype: hasPrototype, isUsuallyCalled: isUsuallyCalled)
  }

  private mutating func enumeration() throws(Violation) -> HeaderDescription.Enumeration {
    var result = HeaderDescription.Enumeration(name: try word(), size: try size(), isSigned: try flag(), members: [])
    for _ in 0..<(try count(upTo: Self.maxMembers)) {
      result.members.append(.init(name: try identifier(), value: try integer()))
    }
    return result
  }

  private mutating func record(isUnion: Bool) throws(Violation) -> CRecord {
    var result = CRecord(name: try word(), isUnion: isUnion, size: try size(), alignment: try size(), fields: [])
    for _ in 0..<(try count(upTo: Self.maxMembers)) {
      // One that is named by what no name of Swift has is as good as one without.
      let name = try word()
      result.fields.append(
        .init(name: CName.isName(name) ? name : "", offset: try size(), isBitField: try flag(), type: try type()))
    }
    return result
  }

  private mutating func type(depth: Int = 0) throws(Violation) -> CType {
    guard depth < Self.maxDepth else { throw violation("a type of at most \(Self.maxDepth) parts") }
    switch try word() {
    case "void": return .void
    case "base":
      let (size, encoding) = (try size(), try size())
      return .base(try word(), size: size, encoding: encoding)
    case "pointer": return .pointer(try type(depth: depth + 1))
    case "const": return .constant(try type(depth: depth + 1))
    case "typedef":
      let name = try identifier()
      return .named(name, try type(depth: depth + 1))
    case "enum":
      let name = try word()
      let size = try size()
      return .enumeration(name, size: size, isSigned: try flag())
    case "record":
      let name = try word()
      _ = try integer()
      return .record(name)
    case "function":
      let words = try word()
      return .function(words, try flag() ? try functionType(depth) : nil)
    case "array":
      let count = try size()
      return .array(try type(depth: depth + 1), count: count)
    case "other": return .other(try word())
    default: throw violation("a type")
    }
  }

  private mutating func functionType(_ depth: Int) throws(Violation) -> CFunction {
    let isVariadic = try flag()
    var function = CFunction(result: try type(depth: depth + 1), parameters: [], isVariadic: isVariadic)
    for _ in 0..<(try count(upTo: Self.maxParameters)) {
      let name = try identifier(orNone: true)
      function.parameters.append(CParameter(name: name, declared: try type(depth: depth + 1)))
    }
    return function
  }

  // MARK: Lines

  private func violation(_ expected: String) -> Violation { Violation(line: line, expected: expected) }

  private mutating func word() throws(Violation) -> String {
    line += 1
    guard at < bytes.endIndex, let end = bytes[at...].prefix(Self.longestLine + 1).firstIndex(of: 0x0a),
      let text = String(validating: bytes[at..<end], as: UTF8.self)
    else { throw violation("a line of text") }
    at = end + 1
    return text
  }

  private mutating func integer() throws(Violation) -> Int64 {
    let text = try word()
    guard let value = Int64(text), String(value) == text else { throw violation("a number") }
    return value
  }

  private mutating func size() throws(Violation) -> UInt64 {
    // What C knows no size of is written as a negative number.
    UInt64(max(try integer(), 0))
  }

  private mutating func flag() throws(Violation) -> Bool {
    let value = try integer()
    guard value == 0 || value == 1 else { throw violation("0 or 1") }
    return value == 1
  }

  private mutating func count(upTo limit: Int) throws(Violation) -> Int {
    guard let value = Int(exactly: try integer()), (0...limit).contains(value) else {
      throw violation("a number up to \(limit)")
    }
    return value
  }

  private mutating func identifier(orNone: Bool = false) throws(Violation) -> String {
    let text = try word()
    guard CName.isName(text) || orNone && text.isEmpty else { throw violation("a name") }
    return text
  }
}

/// Names as C has them.
enum CName {
  /// Letters of any script; what can deceive isn't one. With $, as compilers have it.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return text.unicodeScalars.allSatisfy {
      $0.isASCII ? $0 == "$" || isIdentifier("_\($0)") : $0.properties.isXIDContinue && !DownloadRules.isDeceptive($0)
    }
  }

  /// Of ASCII alone.
  static func isIdentifier(_ text: String) -> Bool {
    guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
    return text.utf8.allSatisfy {
      (0x61...0x7a).contains($0) || (0x41...0x5a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f
    }
  }
}

extension CParameter {
  /// An array that is declared for a parameter is an address (C23, 6.7.7.4); what is constant about it are its elements.
  fileprivate init(name: String, declared type: CType) {
    self.init(name: name, type: type)
    (self.type, count) = Self.adjusted(type, isConstant: false) ?? (type, nil)
  }

  /// nil: it is no array.
  private static func adjusted(_ type: CType, isConstant: Bool) -> (CType, UInt64?)? {
    switch type {
    case .array(let element, let count):
      (.pointer(isConstant && !element.isConstant ? .constant(element) : element), count == 0 ? nil : count)
    case .constant(let type): adjusted(type, isConstant: true)
    case .named(let name, let type): adjusted(type, isConstant: isConstant).map { (.named(name, $0), $1) }
    default: nil
    }
  }
}
