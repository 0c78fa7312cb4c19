/// Reads a signature's text. How deep it goes and how large what it describes gets is bounded as it is read.
struct SignatureParser {
  typealias Kind = CallSignature.Kind
  typealias ParseError = CallSignature.ParseError

  private static let types =
    "void i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 pointer cstring bytes handle callback out(N) inout(N) {T,…} &T 'out T' 'inout T'"
  private static let delimiters = Set("(){}[],&".utf8)
  private let text: String
  private let bytes: [UInt8]
  private var position = 0

  init(_ text: String) {
    self.text = text
    bytes = text.utf8.filter { $0 != UInt8(ascii: " ") }
  }

  static func isNone(_ text: String) -> ParseError {
    let shown = text.count > 80 ? "\(text.prefix(80))…" : text
    return ParseError(description: "signature '\(shown)' isn't RETURN(ARGUMENTS), for example i32(i32)")
  }

  mutating func signature() throws(ParseError) -> (Kind, [Kind]) {
    let result = try kind(isResult: true)
    guard take("(") else { throw Self.isNone(text) }
    var arguments: [Kind] = []
    if take(")") {
      guard position == bytes.count else { throw Self.isNone(text) }
      return (result, arguments)
    }
    while true {
      arguments.append(try kind(isResult: false))
      if take(")") { break }
      guard take(",") else { throw Self.isNone(text) }
    }
    guard position == bytes.count else { throw Self.isNone(text) }
    if arguments == [.void] { return (result, []) }
    guard !arguments.contains(.void) else { throw ParseError(description: "void can't be one of several arguments") }
    return (result, arguments)
  }

  mutating func callback() throws(ParseError) -> (CallLayout.Scalar?, [CallbackSignature.Kind]) {
    let returned = word()
    let result = CallLayout.Scalar(rawValue: returned)
    guard result != nil || returned == "void" else {
      throw ParseError(
        description: "'\(returned.prefix(40))' can't be returned by a callback; numbers, pointer, handle and void can")
    }
    guard take("(") else { throw Self.isNone(text) }
    var arguments: [CallbackSignature.Kind] = []
    if !take(")") {
      repeat { arguments.append(try callbackKind()) } while take(",")
      guard take(")") else { throw Self.isNone(text) }
    }
    guard position == bytes.count else { throw Self.isNone(text) }
    return (result, arguments)
  }

  private mutating func callbackKind() throws(ParseError) -> CallbackSignature.Kind {
    if take("&") { return .reference(try layout(depth: 0)) }
    let word = word()
    if let scalar = CallLayout.Scalar(rawValue: word) { return .number(scalar) }
    if word == "cstring" { return .cstring }
    if word.hasPrefix("out") {
      let rest = word.dropFirst(3)
      if rest.isEmpty, take("(") {
        guard let index = Int(self.word()), take(")") else { throw Self.isNone(text) }
        return .room(count: index)
      }
      position -= rest.utf8.count
      return .output(try layout(depth: 0))
    }
    guard word == "bytes" || word == "cstrings", take("("), let index = Int(self.word()), take(")") else {
      throw ParseError(
        description:
          "'\(word.prefix(40))' isn't a type of a callback's argument; the types are \(CallLayout.Scalar.allCases.map(\.rawValue).joined(separator: " ")) cstring &T 'out T' bytes(N) cstrings(N) out(N), where argument N counts them"
      )
    }
    return word == "bytes" ? .bytes(count: index) : .strings(count: index)
  }

  mutating func wholeLayout() throws(ParseError) -> CallLayout {
    let layout = try layout(depth: 0)
    guard position == bytes.count else {
      throw ParseError(description: "'\(text.prefix(80))' isn't one type, for example {i32,f64,[4]u8}")
    }
    return layout
  }

  private mutating func kind(isResult: Bool) throws(ParseError) -> Kind {
    if next == UInt8(ascii: "{") {
      let layout = try layout(depth: 0)
      guard layout.size <= CallLayout.largestByValue else {
        throw ParseError(
          description:
            "a structure by value has at most \(CallLayout.largestByValue) bytes; this one has \(layout.size): pass its address by &"
        )
      }
      return .structure(layout)
    }
    if next == UInt8(ascii: "[") { throw ParseError(description: "an array isn't passed by value; use &[N]T") }
    if take("&") { return try reference(.input, isResult) }
    let word = word()
    for (prefix, passing) in [("inout", Kind.Passing.inOut), ("out", .output)] where word.hasPrefix(prefix) {
      let rest = word.dropFirst(prefix.count)
      if rest.isEmpty, take("(") { return try buffer(passing, isResult) }
      position -= rest.utf8.count
      return try reference(passing, isResult)
    }
    guard let kind = Kind.named[word] else {
      throw word.isEmpty ? missing("; it is RETURN(ARGUMENTS), for example i32(cstring) or void()") : Self.unknown(word)
    }
    if kind == .callback, isResult { throw ParseError(description: "callback can't be returned; use pointer") }
    if kind == .bytes, isResult { throw ParseError(description: "bytes can't be returned; use pointer or cstring") }
    return kind
  }

  /// What follows `out(` or `inout(`.
  private mutating func buffer(_ passing: Kind.Passing, _ isResult: Bool) throws(ParseError) -> Kind {
    let (digits, name) = (word(), passing == .output ? "out" : "inout")
    guard let size = Int(digits), take(")") else { throw Self.unknown("\(name)(\(digits)") }
    guard !isResult else { throw ParseError(description: "\(name)(N) can't be returned; it is an argument") }
    guard (1...CallSignature.longestOut).contains(size) else {
      throw ParseError(description: "\(name)(\(size)): a buffer has 1 to \(CallSignature.longestOut) bytes")
    }
    return passing == .output ? .out(size) : .inOut(size)
  }

  private mutating func reference(_ passing: Kind.Passing, _ isResult: Bool) throws(ParseError) -> Kind {
    let layout = try layout(depth: 0)
    guard !isResult else {
      throw ParseError(
        description: "\(passing.rawValue)\(layout) can't be returned; use pointer, handle or a structure by value")
    }
    return .reference(passing, layout)
  }

  private mutating func layout(depth: Int) throws(ParseError) -> CallLayout {
    guard depth <= CallLayout.deepest else {
      throw ParseError(description: "structures and arrays lie at most \(CallLayout.deepest) deep in each other")
    }
    let layout: CallLayout
    if take("{") {
      var fields: [CallLayout] = []
      repeat { fields.append(try self.layout(depth: depth + 1)) } while take(",")
      guard take("}") else { throw ParseError(description: "a structure is {TYPE,TYPE,…}; '}' is missing") }
      layout = .structure(fields)
    } else if take("[") {
      let digits = word()
      guard let count = Int(digits), take("]") else { throw ParseError(description: "an array is [N]TYPE") }
      guard (1...CallLayout.largest).contains(count) else {
        throw ParseError(description: "[\(count)]: an array has 1 to \(CallLayout.largest) elements")
      }
      layout = .array(try self.layout(depth: depth + 1), count: count)
    } else {
      let word = word()
      guard let scalar = CallLayout.Scalar(rawValue: word) else {
        guard !word.isEmpty else { throw missing("") }
        throw ParseError(
          description:
            "'\(word.prefix(40))' isn't a type of a field; the types are \(CallLayout.Scalar.allCases.map(\.rawValue).joined(separator: " ")), {T,…} and [N]T"
        )
      }
      layout = .scalar(scalar)
    }
    // Checked at each level: no product of two sizes overflows.
    guard layout.size <= CallLayout.largest else {
      throw ParseError(description: "a structure or array has at most \(CallLayout.largest) bytes")
    }
    return layout
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func word() -> String {
    let word = bytes[position...].prefix { !Self.delimiters.contains($0) }
    position += word.count
    return String(decoding: word, as: UTF8.self)
  }

  /// Where a type is expected and there is none.
  private func missing(_ hint: String) -> ParseError {
    let before = String(decoding: bytes[..<position].suffix(40), as: UTF8.self)
    let place = before.isEmpty ? "at the beginning" : "after '\(before)'"
    return ParseError(description: "a type is missing \(place) of '\(text.prefix(80))'\(hint)")
  }

  private static func unknown(_ word: String) -> ParseError {
    ParseError(description: "'\(word.prefix(40))' isn't a type; the types are \(types)")
  }
}
