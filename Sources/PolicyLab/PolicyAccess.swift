internal import Basics
package import Sandbox

/// What a policy lets a plugin do with one path; each more than the one before.
package enum PathAccess: Int, Sendable, Comparable {
  case none, list, read, write

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  package var words: String {
    switch self {
    case .none: "nothing"
    case .list: "list"
    case .read: "read"
    case .write: "read and write"
    }
  }
}

extension Policy {
  /// The granted paths and patterns, each once, in order.
  package var grants: [String] { (read + write + libraries + list + patterns.map(\.pattern.text)).exactlyOnce }

  /// What of `libraries` and patterns may be mapped as code.
  package var codePaths: [String] {
    (libraries + patterns.filter { $0.access == .execute }.map(\.pattern.text)).exactlyOnce
  }

  /// Whether what lies at a path may be mapped as code: of the grants that hold it, the narrowest says so.
  package func mapsCode(at path: String) -> Bool {
    func longest(_ paths: [String], _ isOf: (PatternGrant) -> Bool) -> Int? {
      (paths.filter { path.lies(in: $0) }
        + patterns.filter { isOf($0) && ($0.pattern.text.isExactly(path) || $0.pattern.covers(path)) }.map(
          \.pattern.text))
        .map(\.utf8.count).max()
    }
    guard let code = longest(libraries, { $0.access == .execute }) else { return false }
    return code >= longest(read + write + list) { $0.access != .execute } ?? 0
  }

  /// Under which access it names a path, and not what that lies in; nil: it doesn't.
  func access(naming path: String) -> PatternGrant.Access? {
    let literal: [(PatternGrant.Access, [String])] = [
      (.write, write), (.execute, libraries), (.read, read), (.list, list),
    ]
    return literal.first { $0.1.containsExactly(path) }?.0
  }

  /// The line of a policy of version 2 by which it grants a path, or what a pattern of it stands for; nil: it doesn't.
  package func line(granting path: String) -> String? {
    let access = access(naming: path)
    let text = access.map { _ in PathPattern.escaped(path) }
    let pattern = access == nil ? patterns.first { $0.pattern.covers(path) } : nil
    guard let access = access ?? pattern?.access, let text = text ?? pattern?.pattern.text else { return nil }
    return "files: {\(access.rawValue): [\(PolicyText.quoted(text))]}"
  }

  /// Of the grants that hold a path, the narrowest counts.
  package func access(to path: String) -> PathAccess {
    func covers(_ grant: String) -> Bool { path.lies(in: grant) }
    let granted =
      write.filter(covers).map { ($0, PathAccess.write) }
      + (read + libraries).filter(covers).map { ($0, PathAccess.read) }
      + list.filter(covers).map { ($0, PathAccess.list) }
      + patterns.filter { $0.pattern.text.isExactly(path) || $0.pattern.covers(path) }.map {
        ($0.pattern.text, PathAccess($0.access))
      }
    return granted.max { ($0.0.utf8.count, $0.1) < ($1.0.utf8.count, $1.1) }?.1 ?? .none
  }
}

extension PathAccess {
  fileprivate init(_ access: PatternGrant.Access) {
    self =
      switch access {
      case .read, .execute: .read
      case .write: .write
      case .list: .list
      }
  }
}
