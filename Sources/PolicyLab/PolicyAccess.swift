package import Sandbox

/// What a policy lets a plugin do with one path; each more than the one before.
package enum PathAccess: Int, Sendable, Comparable {
  case none, read, write

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  package var words: String {
    switch self {
    case .none: "nothing"
    case .read: "read"
    case .write: "read and write"
    }
  }
}

extension Policy {
  /// The granted paths, each once, in order.
  package var grants: [String] { Set(read + write + libraries).sorted() }

  /// Of the grants that hold a path, the narrowest counts.
  package func access(to path: String) -> PathAccess {
    func covers(_ grant: String) -> Bool { path == grant || grant == "/" || path.hasPrefix(grant + "/") }
    let granted =
      write.filter(covers).map { ($0, PathAccess.write) }
      + (read + libraries).filter(covers).map { ($0, PathAccess.read) }
    return granted.max { ($0.0.utf8.count, $0.1) < ($1.0.utf8.count, $1.1) }?.1 ?? .none
  }
}
