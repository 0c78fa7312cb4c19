internal import Basics
internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// Why recording doesn't grant a path that a plugin asked for.
struct GrantRefusal {
  private let base: Policy
  /// What is never granted, nor what lies in it.
  private let denied: Set<String>
  /// Folders in which it is granted what needs a review otherwise.
  private let reviewed: Set<String>

  /// `base`: what recording starts from.
  init(base: Policy, bounds: PolicyRecorder.Bounds) {
    (self.base, denied, reviewed) = (base, bounds.never, bounds.reviewed)
  }

  /// What is never granted without a review.
  static let sensitive = [
    "/root", "/home", "/dev", "/proc", "/sys", "/run", "/boot", "/etc/shadow", "/etc/gshadow", "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers", "/etc/sudoers.d", "/etc/machine-id", "/var/lib", "/var/log", "/var/spool",
  ]
  private static let whole: Set<String> = [
    "/", "/etc", "/usr", "/usr/share", "/usr/local", "/usr/include", "/var", "/var/cache", "/bin", "/sbin", "/lib",
    "/lib64", "/opt", "/tmp", "/srv", "/mnt", "/media",
  ]

  /// Why a path isn't granted, by its own name or by that of what it leads to.
  func reason(for path: String, _ access: PathAccess, _ machine: PolicyRecorder.Machine) -> String? {
    let real = machine.real(path)
    if machine.isDevice(real) { return Remedy.otherDevice }
    // Where no option helps, none is named: /proc/mounts leads to what /proc has of one process.
    if let reason = RevealingFolder.rejectionReason(for: path, hops: machine.hops(path) + [real]) {
      return "no policy grants it: it \(reason)"
    }
    // A run would mark it as plugins' for good, and others keep their files there.
    let isReviewed = reviewed.contains { path.lies(in: $0) } || base.access(to: path) == .write
    if access == .write, !isReviewed, machine.isOpenToAll(real) {
      return "every user may write there, and it would be marked as plugins'; --allow \(path) grants it"
    }
    return reason(named: path, access)
      ?? (real == path ? nil : reason(named: real, access).map { "it leads to \(real): \($0)" })
  }

  func reason(named path: String, _ access: PathAccess) -> String? {
    if RunnerView.links.contains(path) { return "every plugin has it" }
    // The names in a folder show nothing of what lies in it.
    if let holder = denied.first(where: {
      path.lies(in: $0) || access > .list && $0.lies(below: path)
    }) {
      return "a test expects \(holder) to be denied"
    }
    // What the base policy has was decided by a person.
    if base.access(to: path) != .none { return nil }
    if let reason = RevealingFolder.rejectionReason(forReal: path) { return "no policy grants it: it \(reason)" }
    if access == .write, let reason = MachineFolder.rejectionReason(forWriting: path) {
      return "no policy lets it write there: it \(reason)"
    }
    if Self.whole.contains(path) {
      let isAllowed = access == .list && path != "/" && reviewed.contains { path.lies(in: $0) }
      guard !isAllowed else { return nil }
      let advice = access == .list && path != "/" ? "; --allow \(path) grants the names in it" : ""
      return "as a whole it holds what other programs keep\(advice)"
    }
    if reviewed.contains(where: { path.lies(in: $0) }) { return nil }
    if let held = Self.sensitive.first(where: { $0.lies(below: path) }) {
      return "as a whole it holds \(held)" + (access == .list ? "; --allow \(path) grants the names in it" : "")
    }
    guard let holder = Self.sensitive.first(where: { path.lies(in: $0) }) else { return nil }
    return "nothing in \(holder) is granted unless --allow, or the policy that recording starts from, names it"
  }

  /// What is read-only for every plugin, or because the policy that recording started from says so.
  static func reason(forChanging path: String) -> String? {
    if RunnerView.runtime.contains(where: { path.lies(in: $0) }) { return "no policy lets a plugin change the runtime" }
    if path.lies(in: RunnerView.temporary) {
      return "a plugin's \(RunnerView.temporary) is a folder of its own, without what the machine's holds"
    }
    return RunnerView.own.contains { path.lies(in: $0) } ? "the plugin may only read it" : nil
  }
}
