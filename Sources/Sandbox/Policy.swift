/// What a plugin may do beyond nothing. `Policy()` denies everything but the plugin's own bundle, its container, the
/// manifest and the runtime.
public struct Policy: Sendable, Equatable {
  /// What a denied system call leads to.
  public enum DeniedAction: String, Sendable, Codable {
    /// The call fails with the errno that the kernel would give, and is recorded.
    case deny
    /// The run ends with `policyViolation`.
    case kill
  }

  /// Absolute paths that may be read, beside the bundle and the runtime.
  public var read: [String] = []
  /// Absolute paths that may be read and written, beside the container.
  public var write: [String] = []
  /// Absolute paths that may be read, and whose code may be mapped while the plugin runs, as when it opens a library in a call.
  /// Where there is one, code of the bundle and of the runtime may be, too. Needs the mount namespace.
  public var libraries: [String] = []
  /// Walls without which the run doesn't start.
  public var require: Set<Wall> = []
  /// What a denied system call leads to, by its name; `deny` for those that aren't named.
  public var onDenied: [String: DeniedAction] = [:]
  /// What a run may use.
  public var limits = Limits()
  /// Also record every path that the plugin names. Costs about 10 µs for each such call.
  public var observesFiles = false

  /// Creates a policy that grants nothing.
  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Why `action` can't be what a denied call of that name leads to; nil: it can.
  ///
  /// - Parameters:
  ///   - action: What would be done.
  ///   - name: The system call's name.
  /// - Returns: One sentence for people; nil where it can be.
  public static func rejectionReason(for action: DeniedAction, of name: String) -> String? {
    guard SystemCalls.isKnown(name) else { return "\(name) isn't a system call that this host knows" }
    guard action == .deny || !SystemCalls.isFree(name) else {
      return "the filter never denies \(name), so there is nothing to kill for"
    }
    return nil
  }
}
