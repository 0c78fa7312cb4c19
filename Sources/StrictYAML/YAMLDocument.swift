package import Yams

/// The one YAML document of a file that people write, as nodes: a policy, a script of faults, an app's recipe. What isn't
/// plain is refused before it can cost time.
package struct YAMLDocument {
  static let longest = 1 << 20
  /// A mapping whose keys are aliases is hashed with all that they stand for: a few lines can take for ever. No such file
  /// needs an alias, but comments may hold a word in asterisks, and texts a pattern.
  private static let maxAliases = 8

  package let root: Node
  /// Nodes hold their anchors weakly; the parser keeps them.
  private let parser: Parser?

  /// `noun`: what messages call the file.
  package init(_ text: String, file: String, noun: String) throws(YAMLFileError) {
    func refusal(_ line: Int, _ column: Int, _ message: String) -> YAMLFileError {
      YAMLFileError(file: file, line: line, column: column, message: message)
    }
    guard text.utf8.count <= Self.longest else {
      throw refusal(1, 1, "the file has \(text.utf8.count) bytes; \(noun) has at most \(Self.longest)")
    }
    let text = text.unicodeScalars.first == "\u{feff}" ? String(text.unicodeScalars.dropFirst()) : text
    if let (line, column, message) = Self.rejectionReason(for: text, noun: noun) {
      throw refusal(line, column, message)
    }
    let failure: any Error
    do {
      // Not the default: Yams takes that from the environment.
      let parser = try Parser(yaml: text, encoding: .utf8)
      self.parser = parser
      guard let root = try parser.singleRoot() else {
        throw refusal(1, 1, "the file is empty; \(noun) begins with its version, as 'version: 1'")
      }
      self.root = root
      if let anchored = Self.firstAnchored(root) {
        throw refusal(
          anchored.mark?.line ?? 1, anchored.mark?.column ?? 1, "\(noun) has no anchors (&) and no aliases (*)")
      }
      return
    } catch {
      failure = error
    }
    switch failure {
    case let error as YAMLFileError: throw error
    // libyaml's own bound, in the words of its programmers.
    case YamlError.scanner(_, let problem, let mark, _) where problem.hasPrefix("Maximum nesting"),
      YamlError.parser(_, let problem, let mark, _) where problem.hasPrefix("Maximum nesting"):
      throw refusal(mark.line, mark.column, "\(noun) nests too deeply")
    case YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _):
      throw refusal(mark.line, mark.column, "isn't YAML: \(problem)")
    case YamlError.composer(_, let problem, let mark, _):
      throw refusal(mark.line, mark.column, "\(noun) is a single document without aliases: \(problem)")
    case YamlError.duplicatedKeysInMapping(let keys, let context):
      let names = keys.prefix(4).map { String($0.prefix(60)).debugDescription }.joined(separator: ", ")
      throw refusal(context.mark.line, context.mark.column, "the key \(names) is there twice; this is the first")
    default: throw refusal(1, 1, "isn't YAML")
    }
  }

  private static func firstAnchored(_ node: Node) -> Node? {
    if node.anchor != nil { return node }
    switch node {
    case .mapping(let mapping):
      for (key, value) in mapping {
        if let found = firstAnchored(key) ?? firstAnchored(value) { return found }
      }
    case .sequence(let sequence):
      for item in sequence {
        if let found = firstAnchored(item) { return found }
      }
    case .scalar, .alias: break
    }
    return nil
  }

  /// Whether a node may begin behind it (5.3, 5.4 and 5.5 of YAML 1.2.2).
  private static func isBeforeNode(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case " ", "\t", "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}", "[", "{", ",", ":", "?", "-": true
    default: false
    }
  }

  private static func isOfName(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isAlphabetic || scalar == "_" || scalar == "-" || ("0"..."9").contains(scalar)
  }

  /// What has to be refused before a parser looks at it.
  private static func rejectionReason(for text: String, noun: String) -> (line: Int, column: Int, message: String)? {
    var line = 1
    var column = 1
    // Without an anchor no alias is more than a mistake, which the parser finds.
    var (aliases, anchors) = (0, 0)
    var (beforeLast, last): (Unicode.Scalar, Unicode.Scalar) = ("\n", "\n")
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x0a:
        // The second half of CR LF, or a line's end of its own.
        if last != "\r" { line += 1 }
        column = 0
      case 0x0d:
        line += 1
        column = 0
      case 0x09, 0x20...0x7e, 0x85, 0xa0...0xd7ff, 0xe000...0xfefe, 0xff00...0xfffd, 0x10000...0x10ffff:
        break
      default:
        return (
          line, column, "the character U+\(String(scalar.value, radix: 16, uppercase: true)) isn't allowed in YAML"
        )
      }
      if last == "*" || last == "&", Self.isBeforeNode(beforeLast), Self.isOfName(scalar) {
        if last == "*" { aliases += 1 } else { anchors += 1 }
        if aliases > maxAliases, anchors > 0 {
          return (line, max(column - 1, 1), "\(noun) has no anchors (&) and no aliases (*)")
        }
      }
      column += 1
      (beforeLast, last) = (last, scalar)
    }
    return nil
  }
}
