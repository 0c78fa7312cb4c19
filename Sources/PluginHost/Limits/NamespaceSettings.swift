internal import LinuxSystem
package import Sandbox

/// What a machine's administrator has set about user namespaces (user_namespaces(7)).
package struct NamespaceSettings: Sendable, Equatable {
  /// How many there may be.
  var count: String?
  /// Of Debian's kernels: whether users may make any.
  var unprivileged: String?
  /// Of Ubuntu's: whether AppArmor keeps users from having rights in theirs.
  var restricted: String?

  init(count: String? = nil, unprivileged: String? = nil, restricted: String? = nil) {
    self.count = count
    self.unprivileged = unprivileged
    self.restricted = restricted
  }

  /// As this machine has them; nil: it has no such setting.
  package static var current: Self {
    func value(_ name: String) -> String? {
      (try? Files.text(of: "/proc/sys/\(name)")).map { String($0.prefix { !$0.isNewline }) }
    }
    return Self(
      count: value("user/max_user_namespaces"), unprivileged: value("kernel/unprivileged_userns_clone"),
      restricted: value("kernel/apparmor_restrict_unprivileged_userns"))
  }

  /// Which settings refuse user namespaces, and what allows them; without one, what else may refuse them.
  var remedy: String {
    let refusals = [
      count == "0" ? Self.refusal("user.max_user_namespaces", "0", allowing: "10000") : nil,
      unprivileged == "0" ? Self.refusal("kernel.unprivileged_userns_clone", "0", allowing: "1") : nil,
      restriction,
    ].compactMap { $0 }
    return refusals.isEmpty ? "a container's seccomp filter may refuse unshare(2)" : refusals.joined(separator: "; ")
  }

  private var restriction: String? {
    restricted == "1" ? Self.refusal("kernel.apparmor_restrict_unprivileged_userns", "1", allowing: "0") : nil
  }

  private static func refusal(_ setting: String, _ value: String, allowing other: String) -> String {
    "\(setting) is \(value): 'sysctl \(setting)=\(other)', as root, allows user namespaces"
  }

  /// `walls`, with what allows user namespaces where there are none. AppArmor may let a user have one without any right in it: then
  /// the first that is missing is the mount namespace.
  package func explained(_ walls: [Wall: WallState]) -> [Wall: WallState] {
    var walls = walls
    if let user = walls[.userNamespace], user.state == .absent {
      walls[.userNamespace]?.detail = "\(user.detail); \(remedy)"
    } else if let mount = walls[.mountNamespace], mount.state == .absent, let restriction {
      walls[.mountNamespace]?.detail = "\(mount.detail); \(restriction)"
    }
    return walls
  }
}
