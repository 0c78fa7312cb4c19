/// Names that the files of one command get where several URLs would have the same one: `a.bin`, `a-2.bin`, `a-3.bin`, in the
/// order of the URLs, so that the same command finds the same files again.
enum FetchNames {
  /// A string by its bytes: to a server and to a directory two spellings of the same character are two things.
  struct Spelling: Hashable {
    let text: String

    static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
      var text = text
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }

  /// One name for each of `names`, no two the same. The first of a name keeps it, and none gets a number that another URL
  /// has in its own name.
  static func distinct(_ names: [String]) -> [String] {
    var taken: Set<Spelling> = []
    var repeated: [Int] = []
    for (index, name) in names.enumerated() where !taken.insert(Spelling(text: name)).inserted {
      repeated.append(index)
    }
    var result = names
    var next: [Spelling: Int] = [:]
    for index in repeated {
      let name = names[index]
      var number = next[Spelling(text: name)] ?? 2
      while !taken.insert(Spelling(text: numbered(name, number))).inserted { number += 1 }
      result[index] = numbered(name, number)
      next[Spelling(text: name)] = number + 1
    }
    return result
  }

  /// Before the extension, which says what the file is; `.tar.gz` and its like are one.
  static func numbered(_ name: String, _ number: Int) -> String {
    let scalars = name.unicodeScalars
    guard var dot = scalars.lastIndex(of: "."), dot != scalars.startIndex else { return "\(name)-\(number)" }
    if scalars[..<dot].reversed().starts(with: "rat.".unicodeScalars), scalars[..<dot].count > 4 {
      dot = scalars.index(dot, offsetBy: -4)
    }
    return "\(name[..<dot])-\(number)\(name[dot...])"
  }
}
