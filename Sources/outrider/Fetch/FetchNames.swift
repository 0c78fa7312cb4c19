internal import Basics

/// Names that the files of one command get. Where several URLs would have the same one they are `a.bin`, `a-2.bin`,
/// `a-3.bin`, in the order of the URLs, so that the same command finds the same files again.
enum FetchNames {
  /// One name for each of `names`, no two the same. The first of a name keeps it, and none gets a number that another URL
  /// has in its own name.
  static func distinct(_ names: [String]) -> [String] {
    var taken: Set<ExactText> = []
    var repeated: [Int] = []
    for (index, name) in names.enumerated() where !taken.insert(ExactText(name)).inserted {
      repeated.append(index)
    }
    var result = names
    var next: [ExactText: Int] = [:]
    for index in repeated {
      let name = names[index]
      var number = next[ExactText(name)] ?? 2
      while !taken.insert(ExactText(numbered(name, number))).inserted { number += 1 }
      result[index] = numbered(name, number)
      next[ExactText(name)] = number + 1
    }
    return result
  }

  /// Names that a file may get, best first. `kept`: the one under which it is brought up to date. `served`: what its
  /// server calls it. Names that the command's other URLs have are theirs, whoever is first.
  static func choices(own: String, kept: String?, served: String?, others: Set<ExactText>) -> [String] {
    if let kept { return [kept] }
    guard let served, !served.isExactly(own), !others.contains(ExactText(served)) else { return [own] }
    return [served, own]
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
