extension CType {
  /// As in C, more or less.
  package var words: String { declared("") }

  /// As C declares `name` with this type: what the type is stands around it. Without a name it is the type alone.
  package func declared(_ name: String) -> String {
    switch self {
    case .void: Self.words("void", name)
    case .base(let word, _, _): Self.words(word.isEmpty ? "?" : word, name)
    case .enumeration(let word, _, _), .record(let word, _), .other(let word), .named(let word, _):
      Self.words(word, name)
    case .function(let words, _): Self.function(words, name)
    case .array(let element, let count): element.declared("\(name)[\(count)]")
    case .constant(.pointer(let target)): target.pointed(to: Self.words("*const", name))
    // Constant is what an array has.
    case .constant(.array(let element, let count)): CType.array(.constant(element), count: count).declared(name)
    case .constant(let type): "const " + type.declared(name)
    case .pointer(let target): target.pointed(to: "*" + name)
    }
  }

  /// As what `pointer` leads to. An array or a function would take the star for what it has or returns.
  private func pointed(to pointer: String) -> String {
    switch self {
    case .array, .function, .constant(.array), .constant(.function): declared("(\(pointer))")
    case .void, .base, .pointer, .constant, .named, .enumeration, .record, .other: declared(pointer)
    }
  }

  private static func words(_ type: String, _ name: String) -> String {
    let isOne = name.isEmpty || name.hasPrefix("[") || type.hasSuffix("*")
    return isOne ? type + name : "\(type) \(name)"
  }

  /// `words`: such as `int (char)`, or `void (*(int))(char)` for one that returns the address of another.
  private static func function(_ words: String, _ name: String) -> String {
    guard var open = words.firstIndex(of: "(") else { return Self.words(words, name) }
    while words[words.index(after: open)...].first == "*",
      let next = words[words.index(after: open)...].firstIndex(of: "(")
    {
      open = next
    }
    return words[..<open] + name + words[open...]
  }
}

extension CFunction {
  /// As in C.
  package func prototype(of name: String) -> String {
    let list = parameters.map { $0.type.declared(String($0.name.prefix(60))) }
    let all = (list + (isVariadic ? ["..."] : [])).joined(separator: ", ")
    return result.declared("\(name)(\(all.isEmpty ? "void" : all))")
  }
}
