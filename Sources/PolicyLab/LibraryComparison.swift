internal import AssetModel
internal import Basics
internal import PluginHost
package import Sandbox

/// What a new version of a library needs, tries and uses that the old one didn't.
package struct LibraryComparison: Sendable, Equatable, Encodable {
  /// What is known of one version.
  package struct Side: Sendable {
    package var needed: [String]
    package var exports: [String]
    /// Its tests, recorded from nothing.
    package var recording: Recording
    /// Variables of the policy in use that the library names, or one that it loads; see `NamedVariables`.
    package var variables: Set<String>

    package init(needed: [String], exports: [String], recording: Recording, variables: Set<String> = []) {
      (self.needed, self.exports, self.recording, self.variables) = (needed, exports, recording, variables)
    }
  }

  package struct Change: Sendable, Equatable, Encodable {
    /// The new version asks for more by it, or does less.
    package var matters: Bool
    package var text: String
  }

  private static let maxNames = 32
  package private(set) var changes: [Change] = []
  /// Grants of the policy in use that the new version didn't need.
  package private(set) var unused: [String] = []
  /// Limits of the policy in use that are far above what the new version reached.
  package private(set) var excess: [ExcessLimit] = []
  package var matters: Bool { changes.contains(where: \.matters) }

  /// `names`: of the tests that were recorded, in their order. `policy`: the one in use.
  package init(_ old: Side, _ new: Side, names: [String], policy: Policy?) {
    list(old.needed, new.needed, gained: "needs", lost: "no longer needs", whatMatters: .gained)
    list(old.exports, new.exports, gained: "exports", lost: "no longer exports", whatMatters: .lost)
    for (name, (was, now)) in zip(names, zip(old.recording.observed, new.recording.observed)) {
      let (before, after) = (Recording.End(was), Recording.End(now))
      guard !after.isLike(before) else { continue }
      changes.append(
        Change(matters: true, text: "\(Printable.text(name, limit: 80)): \(after.words), was \(before.words)"))
    }
    let (was, now) = (old.recording, new.recording)
    list(Self.tries(was), Self.tries(now), gained: "tries", lost: "no longer tries", whatMatters: .gained)
    // What was used, and not the limits that were made of it.
    var (before, after) = (was.policy, now.policy)
    (before.limits, after.limits) = (Limits(), Limits())
    // How many are seen at one moment differs from run to run.
    (before.processes, after.processes) = (min(before.processes, 1), min(after.processes, 1))
    changes += PolicyDifference(from: before, to: after).changes.map { Change(matters: $0.isWider, text: $0.text) }
    memory(was, now)
    time(was, now, "of the processor", \.cpuSeconds)
    time(was, now, "of the clock", \.wallSeconds)
    limits(was.policy.limits, now.policy.limits)
    if let policy {
      unused = UnusedPermissions(of: policy, by: new).lines
      excess = ExcessLimit.all(of: policy, by: now)
    }
  }

  private enum Direction { case gained, lost }

  private mutating func list(
    _ old: [String], _ new: [String], gained: String, lost: String, whatMatters: Direction
  ) {
    for (words, names, matters) in [
      (gained, Set(new).subtracting(old), whatMatters == .gained),
      (lost, Set(old).subtracting(new), whatMatters == .lost),
    ] {
      for name in names.sorted().prefix(Self.maxNames) {
        changes.append(Change(matters: matters, text: "\(words) \(Printable.text(name, limit: 120))"))
      }
      if names.count > Self.maxNames {
        changes.append(Change(matters: matters, text: "\(words) \(names.count - Self.maxNames) more"))
      }
    }
  }

  /// What no policy gives, and what isn't there.
  private static func tries(_ recording: Recording) -> [String] {
    recording.observed.flatMap(\.denials).map(\.text)
  }

  /// A quarter more than before, and more than what differs from run to run.
  private mutating func memory(_ old: Recording, _ new: Recording) {
    let peaks = [old, new].map { $0.observed.map(\.memoryBytes).max() ?? 0 }
    guard abs(peaks[1] - peaks[0]) > max(peaks[0] / 4, 1 << 20) else { return }
    changes.append(
      Change(matters: peaks[1] > peaks[0], text: "uses \(peaks[1] >> 10) KiB of memory, was \(peaks[0] >> 10) KiB"))
  }

  /// Twice as much as before, and more than what differs from run to run.
  private mutating func time(_ old: Recording, _ new: Recording, _ what: String, _ value: (Observed) -> Double) {
    let longest = [old, new].map { $0.observed.map(value).max() ?? 0 }
    guard abs(longest[1] - longest[0]) > max(longest.min() ?? 0, 0.5) else { return }
    let text = longest.map(LimitValues.milliseconds)
    changes.append(Change(matters: longest[1] > longest[0], text: "takes \(text[1]) \(what), was \(text[0])"))
  }

  /// Those that recording had to raise. The others follow what was used, which differs from run to run.
  private mutating func limits(_ old: Limits, _ new: Limits) {
    let usual = LimitValues.all(Limits())
    for (usual, (was, now)) in zip(usual, zip(LimitValues.all(old), LimitValues.all(new))) where usual.name != "memory"
    {
      guard was.number != now.number, max(was.number, now.number) > usual.number else { continue }
      let isMore = now.number > was.number
      let before = was.number > usual.number ? was : usual
      let after = now.number > usual.number ? now : usual
      changes.append(
        Change(matters: isMore, text: "needs limits: {\(usual.name): \(after.written)}, was \(before.written)"))
    }
  }
}

extension Recording.End {
  var words: String { value.map { "returned \(Printable.text($0, limit: 80))" } ?? kind }
}
