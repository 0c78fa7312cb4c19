internal import Basics
internal import Sandbox

/// Paths that differ in a part of one name, and the pattern that says them all. A pure value.
struct PathGlobs {
  struct Glob: Equatable {
    var pattern: PathPattern
    /// In order.
    var paths: [String]
  }

  /// The beginning of a name without an end or a number, where it is longer.
  private static let beginning = 3

  /// What paths may have in common: all of their names but one, and of the last one its end or its beginning.
  private struct Likeness: Hashable, Comparable {
    var index: Int
    var names: [String]
    var part: String

    static func < (left: Self, right: Self) -> Bool {
      (left.index, left.names.joined(separator: "/"), left.part)
        < (right.index, right.names.joined(separator: "/"), right.part)
    }
  }

  /// Each path is in one of them at most, the largest first.
  static func found(in paths: [String]) -> [Glob] {
    var groups: [Likeness: [String]] = [:]
    for path in Set(paths) {
      for likeness in likenesses(of: path.pathNames) { groups[likeness, default: []].append(path) }
    }
    var taken: Set<String> = []
    var found: [Glob] = []
    for (likeness, paths) in groups.sorted(by: { ($1.value.count, $0.key) < ($0.value.count, $1.key) }) {
      let rest = paths.filter { !taken.contains($0) }.sorted()
      guard rest.count > 1, let pattern = pattern(of: rest, differingAt: likeness.index) else { continue }
      taken.formUnion(rest)
      found.append(Glob(pattern: pattern, paths: rest))
    }
    return found
  }

  private static func likenesses(of names: [String]) -> [Likeness] {
    // A pattern begins with a folder's name.
    names.indices.dropFirst().compactMap { index in
      var others = names
      let name = others.remove(at: index)
      if index < names.count - 1 { return Likeness(index: index, names: others, part: "") }
      // Otherwise it would be the whole folder.
      guard let part = part(of: name) else { return nil }
      return Likeness(index: index, names: others, part: part)
    }
  }

  /// What a name's relatives have as well.
  private static func part(of name: String) -> String? {
    if let dot = name.lastIndex(of: "."), dot != name.startIndex, name.index(after: dot) != name.endIndex {
      return String(name[dot...])
    }
    if let digit = name.firstIndex(where: { ("0"..."9").contains($0) }) {
      return digit == name.startIndex ? nil : String(name[..<digit])
    }
    return name.count > beginning ? String(name.prefix(beginning)) : nil
  }

  private static func pattern(of paths: [String], differingAt index: Int) -> PathPattern? {
    let names = paths.map { Array($0.pathNames[index].unicodeScalars) }
    guard let shortest = names.map(\.count).min(), let first = names.first else { return nil }
    let start = (0..<shortest).prefix { at in names.allSatisfy { $0[at] == first[at] } }.count
    let end = (0..<shortest - start).prefix { at in
      names.allSatisfy { $0[$0.count - 1 - at] == first[first.count - 1 - at] }
    }.count
    var components = paths[0].pathNames.map { PathPattern.escaped($0) }
    func text(_ part: ArraySlice<Unicode.Scalar>) -> String {
      var text = String.UnicodeScalarView()
      text.append(contentsOf: part)
      return PathPattern.escaped(String(text))
    }
    components[index] = text(first.prefix(start)) + "*" + text(first.suffix(end))
    guard let pattern = try? PathPattern("/" + components.joined(separator: "/")), paths.allSatisfy(pattern.covers)
    else { return nil }
    return pattern
  }
}
