internal import AssetModel
internal import Foundation
internal import PluginHost
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
    lines.append("version: 1")
    lines += paths("read", policy.read)
    lines += paths("write", policy.write)
    lines += paths("libraries", policy.libraries)
    if !policy.require.isEmpty {
      lines.append(
        "require: [\(Wall.allCases.filter(policy.require.contains).map(\.rawValue).joined(separator: ", "))]")
    }
    if !policy.onDenied.isEmpty {
      let pairs = policy.onDenied.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.rawValue)" }
      lines.append("onDenied: {\(pairs.joined(separator: ", "))}")
    }
    lines += limits
    lines += rest
    return lines.joined(separator: "\n") + "\n"
  }

  private var end: String {
    let ends = recording.observed.map { $0.value.map { "returned \($0)" } ?? $0.outcome.kind.rawValue }
    let shown = ends.prefix(3).joined(separator: ", ") + (ends.count > 3 ? " and \(ends.count - 3) more" : "")
    return "\(recording.rounds) rounds; the last: \(comment(shown, 200))"
  }

  private func paths(_ key: String, _ paths: [String]) -> [String] {
    guard !paths.isEmpty else { return [] }
    return ["\(key):"]
      + paths.map { path in
        let calls = recording.needs[path]?.calls.sorted { $0.key < $1.key }.map {
          $0.value == 1 ? $0.key : "\($0.key) × \($0.value)"
        }
        return "  - \(quoted(path))" + (calls.map { "  # \($0.joined(separator: ", "))" } ?? "")
      }
  }

  private var limits: [String] {
    let defaults = LimitValues.all(Limits())
    let most = recording.observed
    var used = [
      "wall": LimitValues.milliseconds(most.map(\.wallSeconds).max() ?? 0),
      "cpu": LimitValues.milliseconds(most.map(\.cpuSeconds).max() ?? 0),
    ]
    used["memory"] = "\((most.map(\.memoryBytes).max() ?? 0) >> 10) KiB"
    let own = zip(LimitValues.all(recording.policy.limits), defaults).filter { $0.number != $1.number }.map(\.0)
    guard !own.isEmpty else { return [] }
    return ["limits:"]
      + own.map { limit in
        "  \(limit.name): \(limit.written)" + (used[limit.name].map { "  # the last round used \($0)" } ?? "")
      }
  }

  /// What isn't in the policy, and was asked for.
  private var rest: [String] {
    var lines: [String] = []
    for (path, need) in recording.needs.sorted(by: { $0.key < $1.key }) where need.place == .absent {
      lines.append("# asked for, and not on this machine: \(comment(path, 400))")
    }
    for (path, reason) in recording.refused { lines.append("# not granted: \(comment(path, 400)); \(reason)") }
    for denial in recording.denials where denial.wall != "files" {
      lines.append("# denied in the last round: \(comment(denial.text, 200))")
    }
    let dropped = recording.observed.reduce(0) { $0 + $1.droppedDenials }
    if dropped > 0 { lines.append("# \(dropped) further denials weren't kept") }
    return lines
  }

  private func comment(_ text: String, _ limit: Int) -> String { Printable.text(text, limit: limit) }

  /// As YAML has it on one line, whatever is in it.
  private func quoted(_ path: String) -> String {
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
