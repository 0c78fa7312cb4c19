extension CType {
  /// As in C, more or less.
  package var words: String {
    switch self {
    case .void: "void"
    case .base(let name, _, _): name.isEmpty ? "?" : name
    case .enumeration(let name, _, _), .record(let name, _), .other(let name), .named(let name, _),
      .function(let name, _):
      name
    case .array(let element, let count): "\(element.words)[\(count)]"
    case .constant(.pointer(let target)): Self.pointer(to: target) + "const"
    case .constant(let type): "const \(type.words)"
    case .pointer(let target): Self.pointer(to: target)
    }
  }

  private static func pointer(to target: Self) -> String {
    // `int (int)` is what `int (*)(int)` leads to.
    if case .function(let words, _) = target, let open = words.firstIndex(of: "(") {
      return words[..<open] + "(*)" + words[open...]
    }
    let words = target.words
    return words.hasSuffix("*") ? words + "*" : words + " *"
  }
}

extension CFunction {
  /// As in C.
  package func prototype(of name: String) -> String {
    let list = parameters.map { parameter in
      let type = parameter.type.words
      return parameter.name.isEmpty ? type : type + (type.hasSuffix("*") ? "" : " ") + parameter.name.prefix(60)
    }
    let all = (list + (isVariadic ? ["..."] : [])).joined(separator: ", ")
    let result = self.result.words
    return result + (result.hasSuffix("*") ? "" : " ") + "\(name)(\(all.isEmpty ? "void" : all))"
  }
}
