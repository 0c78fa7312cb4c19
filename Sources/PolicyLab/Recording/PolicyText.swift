internal import AssetModel
internal import Basics
internal import Foundation
package import PluginHost
internal import Sandbox

/// A recorded policy as a file: each line says what needed it.
package struct PolicyText {
  private let recording: Recording
  /// What was run, as on the command line.
  private let command: String

  package init(_ recording: Recording, command: String) { (self.recording, self.command) = (recording, command) }

  package var text: String {
    let policy = recording.policy
    var lines = ["# Recorded from: \(comment(command, 400))", "# \(end)"]
    if let note = recording.note { lines.append("# \(comment(note, 400))") }
    if recording.isInheriting {
      lines.append("# Lines without a comment are as in the policy that recording started from.")
    }
    lines += isFirstVersion(policy) ? firstVersion(policy) : secondVersion(policy)
    if !policy.require.isEmpty {
      lines.append(
        "require: [\(Wall.allCases.filter(policy.require.contains).map(\.rawValue).joined(separator: ", "))]")
    }
    lines += limits
    if recording.keepsObserving { lines.append("observe: true") }
    lines += rest
    return lines.joined(separator: "\n") + "\n"
  }

  /// Whether version 1 can say all of it, which recording began with.
  private func isFirstVersion(_ policy: Policy) -> Bool {
    var rest = policy
    (rest.read, rest.write, rest.libraries, rest.require) = ([], [], [], [])
    (rest.systemCalls.onDenied, rest.limits) = ([:], Limits())
    (rest.observesFiles, rest.observation) = (false, .init())
    return rest == Policy() && !recording.keepsObserving
  }

  private func firstVersion(_ policy: Policy) -> [String] {
    var lines = ["version: 1"]
    lines += paths("read", policy.read)
    lines += paths("write", policy.write)
    lines += paths("libraries", policy.libraries)
    if !policy.systemCalls.onDenied.isEmpty {
      let pairs = policy.systemCalls.onDenied.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.rawValue)" }
      lines.append("onDenied: {\(pairs.joined(separator: ", "))}")
    }
    return lines
  }

  private func secondVersion(_ policy: Policy) -> [String] {
    var lines = ["version: 2", "files:"]
    for access in PatternGrant.Access.allCases {
      var entries: [String] = []
      if access == .write {
        if policy.writesContainer { entries.append("    - $CONTAINER") }
        if policy.writesTemporary { entries.append("    - $TMP") }
      }
      let literal =
        switch access {
        case .read: policy.read
        case .write: policy.write
        case .execute: policy.libraries
        case .list: policy.list
        }
      // A name with a pattern's characters in it is that name.
      entries += literal.map { entry(PathPattern.escaped($0), policy.optional.contains($0), needs: $0) }
      entries += policy.patterns.filter { $0.access == access }.map {
        entry($0.pattern.text, $0.isOptional, needs: $0.pattern.text)
      }
      if entries.isEmpty, access != .write { continue }
      lines += ["  \(access.rawValue):\(entries.isEmpty ? " []" : "")"] + entries
    }
    if policy.devices.count < PolicyDevice.allCases.count {
      lines.append("devices: [\(policy.devices.map(\.rawValue).sorted().joined(separator: ", "))]")
    }
    if !policy.environment.isEmpty {
      let remark = "  # inherited; whether a plugin reads it isn't seen"
      lines +=
        ["environment:"]
        + policy.environment.map {
          "  - \(Self.quoted($0.text))" + (recording.base.environment.contains($0) ? remark : "")
        }
    }
    if !policy.network.isEmpty {
      lines += ["network:"] + policy.network.map { "  - \(Self.quoted($0.text))" + (host($0) ?? calls($0.text)) }
    }
    if policy.socketPairs, policy.network.isEmpty { lines.append("network: pairs" + calls(SocketPairs.key)) }
    if policy.processes > 0 { lines.append("processes: \(policy.processes)\(processes)") }
    let killing = policy.systemCalls.onDenied.filter { $0.value == .kill }.keys.sorted()
    let denied = policy.systemCalls.refused.subtracting(killing).sorted()
    let rules = policy.systemCalls.rules.sorted()
    if !killing.isEmpty || !denied.isEmpty || !rules.isEmpty {
      lines += ["systemCalls:"]
      lines += calls("deny", denied, rules.filter { $0.action == .deny })
      lines += calls("kill", killing, rules.filter { $0.action == .kill })
    }
    let code = "executableMemory: \(policy.codeAllowed.rawValue)"
    lines.append(code + calls(code))
    return lines
  }

  private func calls(_ key: String, _ names: [String], _ rules: [CallRule]) -> [String] {
    if rules.isEmpty { return names.isEmpty ? [] : ["  \(key): [\(names.joined(separator: ", "))]"] }
    return ["  \(key):"] + (names + rules.map(\.text)).map { "    - \($0)" }
  }

  private func entry(_ text: String, _ isOptional: Bool, needs path: String) -> String {
    "    - " + (isOptional ? "{path: \(Self.quoted(text)), missing: skip}" : Self.quoted(text)) + (calls(path))
  }

  private var end: String {
    let ends = recording.observed.map { $0.value.map { "returned \($0)" } ?? $0.outcome.kind.rawValue }
    let shown = ends.prefix(3).joined(separator: ", ") + (ends.count > 3 ? " and \(ends.count - 3) more" : "")
    return "\(recording.rounds == 1 ? "1 round" : "\(recording.rounds) rounds"); the last: \(comment(shown, 200))"
  }

  private func paths(_ key: String, _ paths: [String]) -> [String] {
    guard !paths.isEmpty else { return [] }
    return ["\(key):"]
      + paths.map { "  - \(Self.quoted($0))" + calls($0) }
  }

  /// Of an inherited host.
  private func host(_ endpoint: NetworkEndpoint) -> String? {
    guard recording.base.network.contains(endpoint) else { return nil }
    let count = recording.observed.flatMap(\.connections).filter { $0.target == endpoint.text }.reduce(0) {
      $0 + max($1.count, $1.failed)
    }
    return count == 0 ? Self.unused : "  # inherited; \(count == 1 ? "connect" : "connect × \(count)")"
  }

  private var processes: String {
    let seen = recording.observed.map(\.processes).max() ?? 0
    if seen > 0 { return "  # the last round had \(seen) at one time" }
    return recording.base.processes > 0 ? Self.unused : ""
  }

  private static let unused = "  # inherited, and not used in the last round"

  /// What needed a path, as a comment.
  private func calls(_ path: String) -> String {
    if recording.needs[path]?.place != .granted, recording.base.grants.contains(path) {
      guard let unused = recording.unusedGrants else { return "" }
      return unused.contains(path) ? Self.unused : "  # inherited, and used in the last round"
    }
    let calls = recording.needs[path]?.calls.sorted { $0.key < $1.key }.map {
      $0.value == 1 ? $0.key : "\($0.key) × \($0.value)"
    }
    let need = recording.needs[path]
    let (replaced, others) = (need?.replaced ?? 0, need?.others ?? 0)
    let width =
      replaced == 0
      ? "" : "; in the place of \(replaced) paths, and wider than what was seen: others that match here: \(others)"
    let remark =
      need?.isPrivate == true ? "; other users may not read \(replaced == 0 ? "this file" : "all of them")" : ""
    return calls.map { "  # \($0.joined(separator: ", "))\(width)\(remark)" } ?? ""
  }

  private var limits: [String] {
    let defaults = LimitValues.all(Limits())
    let observed = recording.observed
    var used = [
      "wall": LimitValues.milliseconds(observed.map(\.wallSeconds).max() ?? 0),
      "cpu": LimitValues.milliseconds(observed.map(\.cpuSeconds).max() ?? 0),
    ]
    used["memory"] = "\((observed.map(\.memoryBytes).max() ?? 0) >> 10) KiB"
    let inherited = LimitValues.all(recording.base.limits)
    let own = zip(LimitValues.all(recording.policy.limits), defaults).filter { $0.number != $1.number }.map(\.0)
    guard !own.isEmpty else { return [] }
    return ["limits:"]
      + own.map { limit in
        let raised = inherited.contains { $0.name == limit.name && $0.number < limit.number }
        let why =
          used[limit.name].map { "the last round used \($0)" } ?? (raised ? "raised until no more was denied" : nil)
        return "  \(limit.name): \(limit.written)" + (why.map { "  # \($0)" } ?? "")
      }
  }

  /// What isn't in the policy, and was asked for.
  private var rest: [String] {
    var lines: [String] = []
    for (path, need) in recording.needs.sorted(by: { $0.key < $1.key }) where need.place == .absent {
      lines.append("# asked for, and not on this machine: \(comment(path, 400))")
    }
    for (path, reason) in recording.refused { lines.append("# not granted: \(comment(path, 400)); \(reason)") }
    for (pattern, reason) in recording.left.sorted(by: { $0.key < $1.key }) {
      lines.append("# no pattern: \(comment(pattern, 400)); \(comment(reason, 400))")
    }
    for denial in recording.denials where denial.wall != "files" || !isSaid(denial) {
      lines.append("# denied in the last round: \(comment(denial.text, 200))")
    }
    for row in recording.failedConnections {
      lines.append("# in the last round: \(comment(Self.failure(of: row), 400))")
    }
    if recording.droppedDenials > 0 {
      lines.append("# \(recording.droppedDenials) more denials in the last round than a report keeps")
    }
    return lines
  }

  /// Whether a line says that a file is granted, or why it isn't.
  private func isSaid(_ denial: Observed.Denial) -> Bool {
    let path = denial.named ?? denial.target
    // What is made or removed, and where a link leads, is granted with its folder.
    let folder = denial.writes || denial.meansLink ? path.parentFolder : nil
    let names = [denial.target, path, folder].compactMap(\.self)
    if recording.refused.contains(where: { names.containsExactly($0.path) }) { return true }
    if recording.needs[denial.target]?.place == .absent { return true }
    if ["mmap", "execve"].contains(denial.call) { return recording.policy.mapsCode(at: path) }
    let needed: PathAccess = denial.writes ? .write : SystemCalls.looks.contains(denial.call) ? .list : .read
    return recording.policy.access(to: path) >= needed
  }

  package static func failure(of row: RunReport.Connection) -> String {
    "\(row.failed) of \(max(row.count, row.failed)) connections to \(row.target) failed (\(row.failure)); what it does once connected wasn't seen"
  }

  private func comment(_ text: String, _ limit: Int) -> String { Printable.text(text, limit: limit) }

  /// As YAML has it on one line, whatever is in it.
  static func quoted(_ path: String) -> String {
    let plain = path.unicodeScalars.allSatisfy { scalar in
      scalar.isASCII
        && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "/._-+".unicodeScalars.contains(scalar))
    }
    guard !plain else { return path }
    var text = "\""
    for scalar in path.unicodeScalars {
      switch scalar {
      case "\"", "\\": text += "\\\(scalar)"
      case " "..."~": text.unicodeScalars.append(scalar)
      default: text += String(format: "\\U%08x", scalar.value)
      }
    }
    return text + "\""
  }
}
