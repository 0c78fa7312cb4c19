internal import ArgumentParser
internal import AssetModel

/// What the words at the beginning of a command line name.
struct CommandNames {
  private let root: any ParsableCommand.Type

  init(of root: any ParsableCommand.Type) { self.root = root }

  /// Why the first words, or those after `help`, name no command; nil: they do, or it is the parser's to say.
  func validationError(in arguments: [String]) -> String? {
    let asksForHelp = arguments.first == "help"
    var command = root
    var path: [String] = []
    for word in asksForHelp ? arguments.dropFirst() : arguments[...] {
      let names = command.configuration.subcommands.compactMap { $0.configuration.commandName }
      if word.hasPrefix("-") || word == "help" || names.isEmpty { return nil }
      if let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == word }) {
        (command, path) = (next, path + [word])
        continue
      }
      let near = Self.nearest(to: word, among: names)
      // What isn't the name of a command may be an argument of the one that is meant without any.
      if command.configuration.defaultSubcommand != nil, near == nil, !asksForHelp { return nil }
      let shown = Printable.text((path + [word]).joined(separator: " "), limit: 60)
      let whole = (["outrider"] + path).joined(separator: " ")
      let proposal = near.map { "did you mean '\((path + [$0]).joined(separator: " "))'?" }
      return "'\(shown)' isn't a command; \(proposal ?? "'\(whole) --help' lists them")"
    }
    return nil
  }

  /// The name that differs by the fewest characters, by two at most and by no more than half of them.
  static func nearest(to word: String, among names: [String]) -> String? {
    guard word.utf8.count <= 32 else { return nil }
    let all = names.map { (name: $0, distance: distance(Array(word.utf8), Array($0.utf8))) }
    return all.filter { $0.distance <= min(2, $0.name.utf8.count / 2) }.min { $0.distance < $1.distance }?.name
  }

  /// Characters that are inserted, deleted or substituted, or swapped with their neighbour (optimal string alignment).
  private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var rows = [Array(0...right.count)]
    for i in left.indices {
      var row = [i + 1]
      for j in right.indices {
        var least = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (left[i] == right[j] ? 0 : 1))
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] { least = min(least, rows[i - 1][j - 1] + 1) }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}
