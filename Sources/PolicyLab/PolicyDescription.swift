package import Sandbox

/// What a policy comes to after its defaults.
package struct PolicyDescription: Sendable, Equatable, Encodable {
  package var read: [String]
  package var write: [String]
  package var libraries: [String]
  package var require: [String]
  /// System calls that end the run.
  package var kill: [String]
  package var limits: [LimitValues.Value]

  package init(_ policy: Policy) {
    read = policy.grants.filter { policy.access(to: $0) == .read }
    write = policy.grants.filter { policy.access(to: $0) == .write }
    libraries = policy.libraries.sorted()
    require = Wall.allCases.filter(policy.require.contains).map(\.rawValue)
    kill = policy.onDenied.filter { $0.value == .kill }.keys.sorted()
    limits = LimitValues.all(policy.limits)
  }

  /// In plain words, a line each.
  package var lines: [String] {
    var lines = [
      "A plugin may read its own bundle, the manifest and the runtime, and write in its container.",
      read.isEmpty ? "It may read nothing else." : "It may also read:",
    ]
    lines += read.map { "  \($0)" }
    lines.append(write.isEmpty ? "It may write nothing else." : "It may also read and write:")
    lines += write.map { "  \($0)" }
    lines.append(
      libraries.isEmpty
        ? "Code is mapped only while it is loaded."
        : "It may map code while it runs, of its bundle, of the runtime and of:")
    lines += libraries.map { "  \($0)" }
    lines += [
      "It has no network, and starts no processes.", "A denied system call fails as the kernel would let it fail.",
    ]
    if !kill.isEmpty { lines.append("These end the run instead: \(kill.joined(separator: ", "))") }
    lines.append(
      require.isEmpty
        ? "It runs with the walls that are in force on this machine."
        : "It runs only where these walls are in force: \(require.joined(separator: ", "))")
    lines.append("Limits of one call: " + limits.map { "\($0.name) \($0.text)" }.joined(separator: ", "))
    return lines
  }
}
