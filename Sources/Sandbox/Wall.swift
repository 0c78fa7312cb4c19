/// The walls between a plugin and the machine, in the order in which they close.
public enum Wall: String, Sendable, CaseIterable, Codable {
  case userNamespace, mountNamespace, pidNamespace, networkNamespace, ipcNamespace, utsNamespace
  case landlock, seccomp, rlimits, cgroup, environment, descriptors, watchdog
}

/// How far a wall is in force, and why not further.
public struct WallState: Sendable, Equatable, Codable {
  /// How much of a wall there is.
  public enum State: String, Sendable, Codable {
    case full, partial, absent
  }

  /// How much of it is in force.
  public var state: State
  /// How it is there, or why it isn't, for people.
  public var detail: String

  /// Creates the state of a wall.
  ///
  /// - Parameters:
  ///   - state: How much of it is in force.
  ///   - detail: How it is there, or why it isn't.
  public init(_ state: State, _ detail: String) {
    self.state = state
    self.detail = detail
  }
}
