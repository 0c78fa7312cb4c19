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

  /// What may become code, each more than the one before.
  public enum ExecutableMemory: String, Sendable, Codable, CaseIterable, Comparable {
    /// What is mapped while the plugin is loaded.
    case loading
    /// Files of the bundle, of the runtime and of `libraries`, mapped while the plugin runs, too.
    case later
    /// Also the plugin's private memory, as a just-in-time compiler needs.
    case justInTime = "jit"

    public static func < (left: Self, right: Self) -> Bool {
      allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
    }
  }

  /// System calls that are denied, and what a denied one leads to.
  public struct SystemCallRestrictions: Sendable, Equatable {
    /// What a denied system call leads to, by its name; `deny` for those that aren't named.
    public var onDenied: [String: DeniedAction] = [:]
    /// System calls that the filter would let through, and that are denied all the same.
    public var refused: Set<String> = []
    /// What of other calls is denied, or ends the run, by an argument's value; at most `CallRule.maxRules`.
    public var rules: Set<CallRule> = []

    /// Restricts nothing.
    public init() {}
  }

  /// Absolute paths that may be read, beside the bundle and the runtime.
  public var read: [String] = []
  /// Absolute paths that may be read and written, beside the container.
  public var write: [String] = []
  /// Absolute paths that may be read, and whose code may be mapped while the plugin runs, as when it opens a library in a call.
  /// Where there is one, code of the bundle and of the runtime may be, too. Needs the mount namespace.
  public var libraries: [String] = []
  /// Folders whose names may be listed, with those of the folders in them, and whose files may not be read. Needs Landlock.
  public var list: [String] = []
  /// Grants by patterns, which are looked up when a plugin is loaded.
  public var patterns: [PatternGrant] = []
  /// Granted paths that needn't be there: without them the grant is left out.
  public var optional: Set<String> = []
  /// Whether the containers may be written; they can be read otherwise.
  public var writesContainer = true
  /// Whether the plugin's scratch directory may be written.
  public var writesTemporary = true
  /// The devices that may be opened. Fewer than all need Landlock.
  public var devices = Set(PolicyDevice.allCases)
  /// Variables of the environment beside those that the host sets.
  public var environment: [PolicyVariable] = []
  /// To what it may open TCP connections, which its host makes for it; at most `NetworkEndpoint.maxCount`. Needs a network namespace
  /// and a mount namespace.
  public var network: [NetworkEndpoint] = []
  /// Whether it may make pairs of stream sockets (socketpair(2)), which are two ends of a TCP connection within its run. With hosts under
  /// `network` it may anyway. Needs the same namespaces.
  public var socketPairs = false
  /// How many processes it may have at one time beside its own, whose time and memory count as its own; at most `maxProcesses`. They
  /// start programs where code may be mapped while the plugin runs. Needs a pid namespace and a memory cgroup.
  public var processes = 0
  /// Walls without which the run doesn't start.
  public var require: Set<Wall> = []
  /// What is denied beside what the filter denies to every plugin.
  public var systemCalls = SystemCallRestrictions()
  /// What may become code. `libraries` that aren't empty mean `later` at least.
  public var executableMemory = ExecutableMemory.loading
  /// What a run may use.
  public var limits = Limits()
  /// Also record every path that the plugin names. Each such call waits for the host, some 70 µs.
  public var observesFiles = false
  /// What else is observed, while a policy is recorded.
  package var observation = Observation()

  /// What a run shows beside its denials. No policy file says it.
  package struct Observation: Sendable, Equatable {
    /// Without hosts, too, the run has a network of its own, in which its host tells where the plugin wanted to connect.
    package var network = false
    /// Also note which grants were used; with `observesFiles`.
    package var use = false

    package init() {}
  }

  /// What `processes` may be at most.
  public static let maxProcesses = 64

  /// Whether its runs have a network of their own, no matter what can be reached from there.
  package var hasNetwork: Bool { socketPairs || !network.isEmpty }

  /// Whether it may execute the files whose code it may map.
  package var startsPrograms: Bool { processes > 0 && mapsCodeLater }

  /// Creates a policy that grants nothing.
  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Whether files may be mapped as code while the plugin runs.
  package var mapsCodeLater: Bool { codeAllowed != .loading }

  /// What may become code, all in all.
  package var codeAllowed: ExecutableMemory {
    libraries.isEmpty && !patterns.contains { $0.access == .execute } ? executableMemory : max(executableMemory, .later)
  }

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

  /// Why a call of that name can't be refused to a plugin; nil: it can.
  ///
  /// - Parameter name: The system call's name.
  /// - Returns: One sentence for people; nil where it can be.
  public static func rejectionReason(forRefusing name: String) -> String? {
    guard SystemCalls.isKnown(name) else { return "\(name) isn't a system call that this host knows" }
    guard !SystemCalls.indispensable.contains(name) else {
      return "no plugin can be loaded and called without \(name)"
    }
    return nil
  }
}

/// A device that every plugin has unless its policy says otherwise.
public enum PolicyDevice: String, Sendable, Codable, CaseIterable {
  case null, full, random, urandom

  /// Where it lies, on the machine and for the plugin.
  public var path: String { "/dev/" + rawValue }
}
