package import Sandbox

/// What a policy comes to after its defaults and what it extends.
package struct PolicyDescription: Sendable, Equatable, Encodable {
  /// What it extends, the nearest first.
  package var extends: [String]
  package var read: [String]
  package var write: [String]
  package var list: [String]
  package var libraries: [String]
  /// Of these, what may be missing.
  package var optional: [String]
  package var writesContainer: Bool
  package var writesTemporary: Bool
  package var devices: [String]
  package var environment: [String]
  /// To what it may open connections, each with its port; `pairs` alone where it makes pairs of sockets and connects to nothing.
  package var network: [String]
  /// How many processes it may have beside its own.
  package var processes: Int
  package var executableMemory: String
  package var require: [String]
  /// System calls that are denied though others may make them.
  package var deny: [String]
  /// System calls that end the run.
  package var kill: [String]
  /// What of other calls is denied, or ends the run, by an argument's value: rules as a policy has them.
  package var denyRules: [String]
  package var killRules: [String]
  package var observe: Bool
  package var limits: [LimitValues.Value]

  package init(_ policy: Policy, extends parents: [String] = []) {
    extends = parents
    let grants = policy.grants
    read = grants.filter { policy.access(to: $0) == .read }
    write = grants.filter { policy.access(to: $0) == .write }
    list = grants.filter { policy.access(to: $0) == .list }
    libraries = policy.codePaths
    optional = policy.optional.union(policy.patterns.filter(\.isOptional).map(\.pattern.text)).sorted()
    (writesContainer, writesTemporary) = (policy.writesContainer, policy.writesTemporary)
    devices = PolicyDevice.allCases.filter(policy.devices.contains).map(\.rawValue)
    environment = policy.environment.map(\.text).sorted()
    network = policy.network.isEmpty && policy.socketPairs ? [Self.pairs] : policy.network.map(\.text)
    processes = policy.processes
    executableMemory = policy.codeAllowed.rawValue
    require = Wall.allCases.filter(policy.require.contains).map(\.rawValue)
    kill = policy.systemCalls.onDenied.filter { $0.value == .kill }.keys.sorted()
    let killing = Set(kill)
    deny = policy.systemCalls.refused.filter { !killing.contains($0) }.sorted()
    let rules = policy.systemCalls.rules.sorted()
    denyRules = rules.filter { $0.action == .deny }.map(\.text)
    killRules = rules.filter { $0.action == .kill }.map(\.text)
    observe = policy.observesFiles
    limits = LimitValues.all(policy.limits)
  }

  private static let pairs = "pairs"

  /// In plain words, a line each.
  package var lines: [String] {
    var lines: [String] = []
    if !extends.isEmpty { lines.append("It extends \(extends.joined(separator: ", which extends ")).") }
    lines += paths
    lines += code
    if network.isEmpty {
      lines.append("It has no network.")
    } else if network == [Self.pairs] {
      lines.append("It has no network but pairs of sockets, both ends of which are its own.")
    } else {
      lines.append("Its host opens TCP connections for it to these, and to nothing else:")
      lines += network.map { "  \($0)" }
    }
    lines.append(startedProcesses)
    lines.append("A denied system call fails as the kernel would let it fail.")
    let groups = [
      ("These are denied as well", SystemCallGroup.summary(of: Set(deny), counting: SystemCalls.isEverAllowed)),
      ("These end the run instead", SystemCallGroup.summary(of: Set(kill)) { _ in true }),
    ]
    for (words, calls) in groups where !calls.isEmpty { lines.append("\(words): \(joined(calls))") }
    if !denyRules.isEmpty { lines += ["Of other calls these are denied:"] + denyRules.map { "  \($0)" } }
    if !killRules.isEmpty { lines += ["Of other calls these end the run:"] + killRules.map { "  \($0)" } }
    if devices.count < PolicyDevice.allCases.count {
      lines.append(devices.isEmpty ? "It may open no device." : "It may open these devices: \(joined(devices))")
    }
    if !environment.isEmpty { lines.append("Its environment has besides: \(joined(environment))") }
    if observe { lines.append("Every path that it names and doesn't get is recorded.") }
    lines.append(
      require.isEmpty
        ? "It runs with the walls that are in force on this machine."
        : "It runs only where these walls are in force: \(joined(require))")
    lines.append("Limits of one call: " + limits.map { "\($0.name) \($0.text)" }.joined(separator: ", "))
    return lines
  }

  private var paths: [String] {
    let own =
      switch (writesContainer, writesTemporary) {
      case (true, true): "and write in its container."
      case (true, false): "and write in its container, but not in its scratch folder."
      case (false, true): "and write in its scratch folder alone: its container it can only read."
      case (false, false): "and its container; it may write in neither that nor its scratch folder."
      }
    var lines = ["A plugin may read its own bundle, the manifest and the runtime, \(own)"]
    lines.append(read.isEmpty ? "It may read nothing else." : "It may also read:")
    lines += read.map(entry)
    lines.append(write.isEmpty ? "It may write nothing else." : "It may also read and write:")
    lines += write.map(entry)
    if !list.isEmpty { lines.append("It may list the names, and read no file, in:") }
    return lines + list.map(entry)
  }

  private func entry(_ path: String) -> String { "  \(path)" + (optional.contains(path) ? " (where it is there)" : "") }

  private var code: [String] {
    switch Policy.ExecutableMemory(rawValue: executableMemory) ?? .loading {
    case .loading: return ["Code is mapped only while it is loaded."]
    case .later, .justInTime:
      let also = executableMemory == Policy.ExecutableMemory.later.rawValue ? "" : "what it makes in its memory, "
      return libraries.isEmpty
        ? ["It may run as code, also later: \(also)files of its bundle and of the runtime."]
        : ["It may map code while it runs: \(also)of its bundle, of the runtime and of:"] + libraries.map(entry)
    }
  }

  private var startedProcesses: String {
    guard processes > 0 else { return "It starts no processes." }
    let programs =
      Policy.ExecutableMemory(rawValue: executableMemory) == .loading
      ? "copies of itself that execute no program" : "and executes what it may run as code"
    return
      "It may have \(processes == 1 ? "one process" : "\(processes) processes") beside its own at one time, \(programs)."
  }

  private func joined(_ words: [String]) -> String { words.joined(separator: ", ") }
}
