/// The walls between a plugin and the machine, in the order in which they close.
public enum Wall: String, Sendable, CaseIterable, Codable {
  case userNamespace, mountNamespace, pidNamespace, networkNamespace, ipcNamespace, utsNamespace
  case landlock, seccomp, rlimits, cgroup, environment, descriptors, watchdog
}

/// How far a wall is in force, and why not further.
public struct WallState: Sendable, Equatable, Codable {
  public enum State: String, Sendable, Codable {
    case full, partial, absent
  }

  public var state: State
  public var detail: String

  public init(_ state: State, _ detail: String) {
    self.state = state
    self.detail = detail
  }
}
