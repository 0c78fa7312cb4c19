/// Names of Rust's functions as people write them (RFC 2603, "v0"), as recent compilers of Rust give them. Bounded: a name may be made to
/// stand for one of any length.
package struct RustSymbol {
  private struct Unreadable: Error {}

  private static let maxDepth = 64
  private static let maxText = 4096
  private static let maxSteps = 100_000

  private let bytes: [UInt8]
  private var at = 0
  private var depth = 0
  private var steps = 0
  private var text = ""
  /// Lifetimes that are bound around what is read.
  private var lifetimes = 0
  /// It is read, and not part of what people write.
  private var isSilent = false

  /// nil for what is no such name.
  package static func demangled(_ name: String) -> String? {
    guard name.hasPrefix("_R") else { return LegacyRustSymbol.demangled(name) }
    // What a compiler adds to a name begins with a dot.
    var symbol = RustSymbol(Array(name.utf8.dropFirst(2).prefix { $0 != UInt8(ascii: ".") }))
    do {
      try symbol.path(isValue: true)
      // The crate that a generic function was made in.
      if symbol.at < symbol.bytes.count {
        symbol.isSilent = true
        try symbol.path(isValue: false)
      }
    } catch {
      return nil
    }
    return symbol.at == symbol.bytes.count ? symbol.text : nil
  }

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  // MARK: Bytes

  private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

  private mutating func take() throws(Unreadable) -> Character {
    steps += 1
    guard let byte = next, byte < 0x80, steps <= Self.maxSteps else { throw Unreadable() }
    at += 1
    return Character(UnicodeScalar(byte))
  }

  private mutating func takes(_ character: Character) -> Bool {
    guard let byte = next, byte == character.asciiValue else { return false }
    at += 1
    return true
  }

  private mutating func write(_ more: String) throws(Unreadable) {
    guard !isSilent else { return }
    text += more
    guard text.utf8.count <= Self.maxText else { throw Unreadable() }
  }

  /// `_` is 0, `0_` is 1.
  private mutating func base62() throws(Unreadable) -> Int {
    if takes("_") { return 0 }
    var value = 0
    while true {
      let character = try take()
      if character == "_" { break }
      let digit: Int? =
        switch character {
        case "0"..."9": character.wholeNumberValue
        case "a"..."z": character.asciiValue.map { Int($0) - 97 + 10 }
        case "A"..."Z": character.asciiValue.map { Int($0) - 65 + 36 }
        default: nil
        }
      guard let digit else { throw Unreadable() }
      // A hash takes all 64 bits.
      value = value &* 62 &+ digit
    }
    return value &+ 1
  }

  private mutating func disambiguator() throws(Unreadable) -> Int { takes("s") ? try base62() &+ 1 : 0 }

  private mutating func identifier() throws(Unreadable) -> String {
    let isEncoded = takes("u")
    var count = 0
    guard let first = next, (48...57).contains(first) else { throw Unreadable() }
    if !takes("0") {
      while let digit = next, (48...57).contains(digit), count < 10_000 {
        count = count * 10 + Int(digit) - 48
        at += 1
      }
    }
    _ = takes("_")
    guard count <= bytes.count - at else { throw Unreadable() }
    defer { at += count }
    let name = String(decoding: bytes[at..<at + count], as: UTF8.self)
    return isEncoded ? "punycode{\(name)}" : name
  }

  /// What is within something else.
  private mutating func nested(_ body: (inout RustSymbol) throws(Unreadable) -> Void) throws(Unreadable) {
    depth += 1
    guard depth <= Self.maxDepth else { throw Unreadable() }
    try body(&self)
    depth -= 1
  }

  /// Reads again what stands further to the front.
  private mutating func backReference(
    _ body: (inout RustSymbol) throws(Unreadable) -> Void
  ) throws(Unreadable) {
    let start = at - 1
    let place = try base62()
    guard (0..<start).contains(place) else { throw Unreadable() }
    guard !isSilent else { return }
    let after = at
    at = place
    try nested(body)
    at = after
  }

  // MARK: Grammar

  private mutating func path(isValue: Bool) throws(Unreadable) {
    try nested { symbol throws(Unreadable) in try symbol.anyPath(isValue) }
  }

  private mutating func anyPath(_ isValue: Bool) throws(Unreadable) {
    switch try take() {
    case "C":
      _ = try disambiguator()
      try write(try identifier())
    case "M":
      try implementation()
      try write("<")
      try type()
      try write(">")
    case "X":
      try implementation()
      try traitOfType()
    case "Y": try traitOfType()
    case "N": try member(isValue)
    case "I":
      try path(isValue: isValue)
      try write(isValue ? "::<" : "<")
      try list { symbol throws(Unreadable) in try symbol.genericArgument() }
      try write(">")
    case "B": try backReference { symbol throws(Unreadable) in try symbol.path(isValue: isValue) }
    default: throw Unreadable()
    }
  }

  /// Where an implementation stands isn't part of how it is called.
  private mutating func implementation() throws(Unreadable) {
    let wasSilent = isSilent
    isSilent = true
    _ = try disambiguator()
    try path(isValue: false)
    isSilent = wasSilent
  }

  private mutating func traitOfType() throws(Unreadable) {
    try write("<")
    try type()
    try write(" as ")
    try path(isValue: false)
    try write(">")
  }

  private mutating func member(_ isValue: Bool) throws(Unreadable) {
    let namespace = try take()
    try path(isValue: isValue)
    let number = try disambiguator()
    let name = try identifier()
    switch namespace {
    case "A"..."Z":
      let kind = namespace == "C" ? "closure" : namespace == "S" ? "shim" : String(namespace)
      try write("::{\(kind)\(name.isEmpty ? "" : ":\(name)")#\(number)}")
    case "a"..."z": if !name.isEmpty { try write("::\(name)") }
    default: throw Unreadable()
    }
  }

  /// Up to "E".
  private mutating func list(
    _ item: (inout RustSymbol) throws(Unreadable) -> Void
  ) throws(Unreadable) {
    var isFirst = true
    while !takes("E") {
      if !isFirst { try write(", ") }
      isFirst = false
      try item(&self)
    }
  }

  private mutating func genericArgument() throws(Unreadable) {
    if takes("L") {
      try lifetime(try base62())
    } else if takes("K") {
      try constant()
    } else {
      try type()
    }
  }

  private mutating func lifetime(_ index: Int) throws(Unreadable) {
    guard index > 0 else { return try write("'_") }
    guard (1...max(lifetimes, 1)).contains(index), index <= lifetimes else { throw Unreadable() }
    try write("'\(Self.letter(lifetimes - index))")
  }

  private static func letter(_ number: Int) -> String {
    number < 26 ? String(UnicodeScalar(UInt8(97 + number))) : "_\(number)"
  }

  /// `for<'a>` before what is bound.
  private mutating func bound(_ body: (inout RustSymbol) throws(Unreadable) -> Void) throws(Unreadable) {
    let before = lifetimes
    if takes("G") {
      let count = try base62() &+ 1
      guard (1...Self.maxDepth).contains(count) else { throw Unreadable() }
      try write("for<" + (before..<before + count).map { "'\(Self.letter($0))" }.joined(separator: ", ") + "> ")
      lifetimes += count
    }
    try body(&self)
    lifetimes = before
  }

  private static let basic: [Character: String] = [
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8", "i": "isize", "j": "usize",
    "l": "i32", "m": "u32", "n": "i128", "o": "u128", "p": "_", "s": "i16", "t": "u16", "u": "()", "v": "...",
    "x": "i64", "y": "u64", "z": "!",
  ]

  private mutating func type() throws(Unreadable) {
    try nested { symbol throws(Unreadable) in try symbol.anyType() }
  }

  private mutating func anyType() throws(Unreadable) {
    let tag = try take()
    if let name = Self.basic[tag] { return try write(name) }
    switch tag {
    case "A", "S":
      try write("[")
      try type()
      if tag == "A" {
        try write("; ")
        try constant()
      }
      try write("]")
    case "T":
      try write("(")
      let start = at
      try list { symbol throws(Unreadable) in try symbol.type() }
      // One element is told from brackets by a comma.
      if isSingle(from: start) { try write(",") }
      try write(")")
    case "R", "Q":
      try write("&")
      if takes("L") {
        let index = try base62()
        if index > 0 {
          try lifetime(index)
          try write(" ")
        }
      }
      if tag == "Q" { try write("mut ") }
      try type()
    case "P", "O":
      try write(tag == "P" ? "*const " : "*mut ")
      try type()
    case "F": try bound { symbol throws(Unreadable) in try symbol.function() }
    case "D": try object()
    case "B": try backReference { symbol throws(Unreadable) in try symbol.type() }
    default:
      at -= 1
      try path(isValue: false)
    }
  }

  /// Whether a list that began there and has just ended had one type.
  private func isSingle(from start: Int) -> Bool {
    var again = RustSymbol(bytes)
    (again.at, again.isSilent, again.lifetimes) = (start, true, lifetimes)
    return (try? again.type()) != nil && again.at == at - 1
  }

  private mutating func function() throws(Unreadable) {
    if takes("U") { try write("unsafe ") }
    if takes("K") {
      let name = takes("C") ? "C" : try identifier().replacing("_", with: "-")
      try write("extern \"\(name)\" ")
    }
    try write("fn(")
    try list { symbol throws(Unreadable) in try symbol.type() }
    try write(")")
    if takes("u") { return }
    try write(" -> ")
    try type()
  }

  private mutating func object() throws(Unreadable) {
    try write("dyn ")
    try bound { symbol throws(Unreadable) in
      var isFirst = true
      while !symbol.takes("E") {
        if !isFirst { try symbol.write(" + ") }
        isFirst = false
        try symbol.trait()
      }
    }
    guard takes("L") else { throw Unreadable() }
    let index = try base62()
    if index > 0 {
      try write(" + ")
      try lifetime(index)
    }
  }

  /// With its associated types: `Iterator<Item = u8>`.
  private mutating func trait() throws(Unreadable) {
    var isOpen = try openPath()
    while takes("p") {
      try write(isOpen ? ", " : "<")
      isOpen = true
      try write("\(try identifier()) = ")
      try type()
    }
    if isOpen { try write(">") }
  }

  /// A path whose list of generic arguments goes on; whether there is one.
  private mutating func openPath() throws(Unreadable) -> Bool {
    if takes("B") {
      var isOpen = false
      try backReference { symbol throws(Unreadable) in isOpen = try symbol.openPath() }
      return isOpen
    }
    guard takes("I") else {
      try path(isValue: false)
      return false
    }
    try path(isValue: false)
    try write("<")
    try list { symbol throws(Unreadable) in try symbol.genericArgument() }
    return true
  }

  private mutating func constant() throws(Unreadable) {
    if takes("B") { return try backReference { symbol throws(Unreadable) in try symbol.constant() } }
    let tag = try take()
    switch tag {
    case "p": try write("_")
    case "a", "h", "i", "j", "l", "m", "n", "o", "s", "t", "x", "y":
      let sign = takes("n") ? "-" : ""
      try write(sign + number(try digits()))
    case "b":
      let digits = try digits()
      guard digits == "0" || digits == "1" else { throw Unreadable() }
      try write(digits == "1" ? "true" : "false")
    case "c":
      guard let value = UInt32(try digits(), radix: 16), let scalar = UnicodeScalar(value) else { throw Unreadable() }
      try write("'\(scalar.escaped(asASCII: true))'")
    default: throw Unreadable()
    }
  }

  private mutating func digits() throws(Unreadable) -> String {
    var digits = ""
    while !takes("_") {
      let digit = try take()
      guard digit.isHexDigit, !digit.isUppercase, digits.utf8.count < 64 else { throw Unreadable() }
      digits.append(digit)
    }
    return digits
  }

  private func number(_ digits: String) -> String {
    digits.isEmpty ? "0" : UInt64(digits, radix: 16).map(String.init) ?? "0x\(digits)"
  }
}
