/// Reads challenges one after another from a field's value. A comma ends a parameter or a whole challenge; only what comes
/// after it says which.
struct ChallengeReader {
  struct Item {
    var scheme: String
    var parameters: [String: String]
    /// Data without names, as Negotiate has it.
    var hasToken68: Bool
  }

  private var rest: ArraySlice<UInt8>

  init(_ value: String) { rest = Array(value.utf8)[...] }

  /// The next challenge; nil at the end, and where the value isn't well-formed.
  mutating func next() -> Item? {
    skipCommas()
    let name = run(HeaderToken.contains)
    guard !name.isEmpty else { return nil }
    var item = Item(scheme: HeaderToken.lowercased(name), parameters: [:], hasToken68: false)
    guard let separator = rest.first else { return item }
    if separator == UInt8(ascii: ",") { return item }
    guard HeaderToken.isBlank(separator) else { return nil }
    skipBlanks()
    if token68() {
      item.hasToken68 = true
      return item
    }
    while true {
      let start = rest
      skipCommas()
      let name = run(HeaderToken.contains)
      skipBlanks()
      guard !name.isEmpty, rest.first == UInt8(ascii: "=") else {
        // No parameter: the next challenge, or the end.
        rest = start
        return endsHere ? item : nil
      }
      rest.removeFirst()
      skipBlanks()
      guard let value = value(), endsHere else { return nil }
      let key = HeaderToken.lowercased(name)
      guard item.parameters.count < Challenge.maxParameters else { return nil }
      // A parameter that comes twice: the first one counts.
      if item.parameters[key] == nil { item.parameters[key] = value }
    }
  }

  /// Whether a comma or the end comes next.
  private var endsHere: Bool {
    let next = rest.first { !HeaderToken.isBlank($0) }
    return next == nil || next == UInt8(ascii: ",")
  }

  private mutating func run(_ isIncluded: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let found = rest.prefix(while: isIncluded)
    rest = rest.dropFirst(found.count)
    return found
  }

  private mutating func skipBlanks() { rest = rest.drop(while: HeaderToken.isBlank) }
  private mutating func skipCommas() { rest = rest.drop { HeaderToken.isBlank($0) || $0 == UInt8(ascii: ",") } }

  /// Takes a token68 if there is one: it may end in `=`, as a parameter never does.
  private mutating func token68() -> Bool {
    let start = rest
    let found = run {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-._~+/".utf8.contains($0)
      }
    }
    rest = rest.drop { $0 == UInt8(ascii: "=") }
    if !found.isEmpty, endsHere { return true }
    rest = start
    return false
  }

  /// A token or a quoted string; nil for neither, for one that doesn't end, and for control characters in it.
  private mutating func value() -> String? {
    guard rest.first == UInt8(ascii: "\"") else {
      let token = run(HeaderToken.contains)
      return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
    }
    rest.removeFirst()
    var bytes: [UInt8] = []
    while var byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
      if byte == UInt8(ascii: "\\") {
        guard let escaped = rest.popFirst() else { return nil }
        byte = escaped
      }
      if HeaderToken.isControl(byte), byte != 0x09 { return nil }
      bytes.append(byte)
    }
    return nil
  }
}
