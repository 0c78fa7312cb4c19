internal import Basics

/// A path with `*`, `?` and `[…]` in it, as glob(7) has them: none stands for a slash, and none for the dot that a hidden name
/// begins with. `\` takes a character's meaning away.
public struct PathPattern: Sendable, Hashable {
  /// As the policy has it.
  public let text: String
  /// Between the slashes.
  package let components: [Component]

  /// Why a text is no pattern.
  public struct Invalid: Error, Sendable, Equatable {
    /// One sentence.
    public let message: String
  }

  package enum Token: Sendable, Hashable {
    case character(Unicode.Scalar)
    case one
    case any
    case set([ClosedRange<Unicode.Scalar>], isInverted: Bool)
  }

  package struct Component: Sendable, Hashable {
    package let tokens: [Token]

    /// The name that it stands for; nil: it stands for several.
    package var literal: String? {
      var name = ""
      for token in tokens {
        guard case .character(let scalar) = token else { return nil }
        name.unicodeScalars.append(scalar)
      }
      return name
    }
  }

  /// Components with a wildcard: each may cost a look at every folder that those before it found.
  package static let maxWildcards = 4

  /// Whether a text has what would make it a pattern.
  package static func isPattern(_ text: String) -> Bool {
    text.unicodeScalars.contains { "*?[\\".unicodeScalars.contains($0) }
  }

  /// A path as the pattern that stands for it alone.
  package static func escaped(_ path: String) -> String {
    var text = ""
    for scalar in path.unicodeScalars {
      if "*?[\\".unicodeScalars.contains(scalar) { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return text
  }

  /// The one path that a text stands for, with what is escaped in it as it is; nil where a wildcard stands for several.
  package static func literal(_ text: String) -> String? {
    var path = ""
    var isEscaped = false
    for scalar in text.unicodeScalars {
      if !isEscaped, "*?[".unicodeScalars.contains(scalar) { return nil }
      isEscaped = scalar == "\\" && !isEscaped
      if !isEscaped { path.unicodeScalars.append(scalar) }
    }
    return isEscaped ? nil : path
  }

  /// Reads a pattern.
  ///
  /// - Parameter text: An absolute path with wildcards.
  /// - Throws: `Invalid` with what is wrong.
  public init(_ text: String) throws(Invalid) {
    self.text = text
    var components: [Component] = []
    for part in text.pathNames {
      if part.contains("**") { throw Invalid(message: "'**' isn't a pattern here: name each folder between with '*'") }
      components.append(Component(tokens: try Self.tokens(part)))
    }
    guard text.isAbsolutePath, let first = components.first, let name = first.literal, name != ".", name != ".." else {
      throw Invalid(message: "a pattern begins with a folder's name, as in /srv/*.db")
    }
    guard components.count(where: { $0.literal == nil }) <= Self.maxWildcards else {
      throw Invalid(message: "a pattern has wildcards in at most \(Self.maxWildcards) of its names")
    }
    self.components = components
  }

  private static func tokens(_ part: String) throws(Invalid) -> [Token] {
    var tokens: [Token] = []
    var rest = part.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case "*": tokens.append(.any)
      case "?": tokens.append(.one)
      case "\\":
        guard let next = rest.popFirst() else { throw Invalid(message: "a pattern can't end with '\\'") }
        tokens.append(.character(next))
      case "[": tokens.append(try set(&rest))
      default: tokens.append(.character(scalar))
      }
    }
    return tokens
  }

  /// What follows a `[`.
  private static func set(_ rest: inout Substring.UnicodeScalarView) throws(Invalid) -> Token {
    let isInverted = rest.first == "!"
    if isInverted { rest.removeFirst() }
    var ranges: [ClosedRange<Unicode.Scalar>] = []
    while let scalar = rest.popFirst() {
      // The first one is a bracket of its own.
      if scalar == "]", !ranges.isEmpty { return .set(ranges, isInverted: isInverted) }
      guard rest.first == "-", let last = rest.dropFirst().first, last != "]" else {
        ranges.append(scalar...scalar)
        continue
      }
      guard scalar <= last else { throw Invalid(message: "\(scalar)-\(last) in '[…]' runs backwards") }
      ranges.append(scalar...last)
      rest.removeFirst(2)
    }
    throw Invalid(message: "'[' has no ']'; write \\[ for the character itself")
  }

  /// Whether a path, or a folder that it lies in, is one that this stands for.
  package func covers(_ path: String) -> Bool {
    let names = path.pathNames
    return names.count >= components.count && zip(components, names).allSatisfy { $0.matches($1) }
  }
}

extension PathPattern.Component {
  /// In a time that grows with the product of both lengths at most.
  package func matches(_ name: String) -> Bool {
    let name = Array(name.unicodeScalars)
    if name.first == ".", tokens.first != .character(".") { return false }
    var (token, place) = (0, 0)
    // Where to go on if the last `*` was to stand for one character more.
    var last: (token: Int, place: Int)?
    while place < name.count {
      if token < tokens.count, tokens[token] == .any {
        last = (token, place)
        token += 1
      } else if token < tokens.count, tokens[token].matches(name[place]) {
        (token, place) = (token + 1, place + 1)
      } else if let again = last {
        last = (again.token, again.place + 1)
        (token, place) = (again.token + 1, again.place + 1)
      } else {
        return false
      }
    }
    return tokens[token...].allSatisfy { $0 == .any }
  }
}

extension PathPattern.Token {
  fileprivate func matches(_ scalar: Unicode.Scalar) -> Bool {
    switch self {
    case .character(let own): own == scalar
    case .one, .any: true
    case .set(let ranges, let isInverted): ranges.contains { $0.contains(scalar) } != isInverted
    }
  }
}

/// A pattern of a policy, and what may be done with what it stands for.
public struct PatternGrant: Sendable, Hashable {
  /// What may be done with a path.
  public enum Access: String, Sendable, Codable, CaseIterable {
    /// Read; read and written; read and mapped as code; listed.
    case read, write, execute, list
  }

  /// What may be done.
  public var access: Access
  /// With which paths.
  public var pattern: PathPattern
  /// Whether it may stand for nothing.
  public var isOptional: Bool

  /// Creates a grant.
  ///
  /// - Parameters:
  ///   - access: What may be done.
  ///   - pattern: With which paths.
  ///   - isOptional: Whether it may stand for nothing.
  public init(_ access: Access, _ pattern: PathPattern, isOptional: Bool = false) {
    (self.access, self.pattern, self.isOptional) = (access, pattern, isOptional)
  }
}
