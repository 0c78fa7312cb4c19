package import AssetModel
internal import Basics
package import HostProtocol
internal import LinuxSystem
package import PluginHost
package import Sandbox

/// What a call was seen to do.
package struct Observed: Sendable {
  package struct Denial: Sendable, Equatable {
    package var wall: String
    package var call: String
    /// As it is: a path is the plugin's choice, and may have control characters.
    package var target: String
    package var count = 1
    /// Whether a file would have been written.
    package var writes = false
    /// Whether each of the calls meant a link itself, and not what it leads to.
    package var namesLink = false
    /// Whether what would have been written would have been read, too.
    package var readsToo = false
    /// Whether it was asked if the file may be executed.
    package var asksToExecute = false
    var meansLink: Bool { !writes && (namesLink || SystemCalls.linkReaders.contains(call)) }
    /// What the path leads to on this machine, where that is another.
    package var real: String?
    /// What a path with `..` means on this machine, by the links before that; nil: it has none, or that isn't known.
    var resolved: String?
    /// A path that isn't there on this machine either: no wall kept the plugin from it.
    package var isAbsent = false
    /// What would let the plugin have it, in one line; nil: it wasn't asked for.
    package var remedy: String?

    /// Whether it was only asked if the file may be written (access(2), W_OK): the plugin knows that it may not, and nothing was
    /// kept from it.
    package var isQuestion: Bool { wall == "files" && writes && SystemCalls.looks.contains(call) }

    /// As a policy can have it; nil: it names no file, or none that a policy can name.
    var named: String? { wall == "files" ? resolved ?? PolicyPath.named(target) : nil }

    /// What it is about, as expectations name it.
    var places: [String] { [named ?? target] + [real].compactMap(\.self) }

    package var text: String { "\(wall): \(call)" + (target.isEmpty ? "" : "(\(target))") }
  }

  package var outcome: Outcome
  /// As `outrider call` prints it; nil: it didn't return.
  package var value: String?
  /// The text that it returned, as it is; nil: none, or one that isn't UTF-8.
  package var text: String?
  /// What was written to each `out(N)`.
  package var outputs: [[UInt8]] = []
  package var denials: [Denial] = []
  /// Those beyond the most that a report keeps.
  package var droppedDenials = 0
  package var log: [String] = []
  package var connections: [RunReport.Connection] = []
  /// Granted paths in which it named something; nil where that wasn't observed.
  package var usedGrants: [String]?
  package var wallSeconds = 0.0
  package var cpuSeconds = 0.0
  package var memoryBytes = 0
  /// Limits of these names are the run's own, whatever the policy has.
  package var ownLimits: Set<String> = []
  /// It ended as its test wants it to.
  package var endsAsExpected = false
  /// What would have let it go on, where a limit ended it.
  package var limitRemedy: LimitRemedy?
  /// The most processes that were seen beside the plugin's own.
  package var processes = 0

  /// Where a path leads by the links of the machine that it was observed on; the path itself where nothing is known of that.
  package var leading: @Sendable (String) -> String = { $0 }

  package init(outcome: Outcome) { self.outcome = outcome }

  /// `result`: of the last call; nil where it didn't return.
  /// `policy`: for which each denial's remedy is told.
  package init(_ report: RunReport, _ result: RunnerMessage.CallResult?, under policy: Policy? = nil) {
    outcome = report.outcome
    value = result.map { CallWords.text(of: $0.value) }
    text = result.flatMap { Returned.text(of: $0.value) }
    outputs = result?.out ?? []
    denials = report.denials.map { denial in
      var row = Denial(denial, exists: { Files.isThere($0) ?? true }, isNamed: { Files.isNamed($0) ?? true })
      if row.wall == "files", let real = try? Files.real(row.target), !real.isExactly(row.target) { row.real = real }
      if row.wall == "files", row.target.pathNames.contains("..") {
        row.resolved = PolicyPath.asked(row.target, on: .this) ?? row.target
      }
      if let policy, !row.isAbsent { row.remedy = Remedy(for: denial, under: policy).text }
      return row
    }
    leading = Self.leading
    limitRemedy = policy.flatMap { LimitRemedy(for: report.outcome.kind, $0.limits) }
    droppedDenials = report.droppedDenials
    log = report.log.map(\.message)
    connections = report.connections
    usedGrants = report.usedGrants
    wallSeconds = report.usage.wallSeconds
    cpuSeconds = report.usage.cpuSeconds
    memoryBytes = report.usage.peakMemoryBytes
    processes = report.usage.peakProcesses
  }
}

extension Observed {
  /// Also of a file that isn't there.
  @Sendable private static func leading(_ path: String) -> String {
    if let real = try? Files.real(path) { return real }
    guard let name = path.pathNames.last, let folder = path.parentFolder, folder != path else { return path }
    let above = leading(folder)
    return (above == "/" ? "" : above) + "/" + name
  }

  /// What an extension answered: how many downloads were accepted and rejected.
  package init(_ report: RunReport, _ verdict: DownloadRules.Verdict?, under policy: Policy? = nil) {
    self.init(report, nil as RunnerMessage.CallResult?, under: policy)
    value = verdict.map { "\($0.accepted.count)/\($0.rejected.count)" }
  }
}

extension Observed.Denial {
  /// `isNamed`: as `exists`, but of a link itself.
  init(_ denial: RunReport.Denial, exists: (String) -> Bool, isNamed: (String) -> Bool) {
    (wall, call, target) = (denial.wall, denial.operation, denial.path ?? denial.target)
    (count, writes) = (denial.count, denial.writes)
    (namesLink, readsToo, asksToExecute) = (denial.namesLink, denial.readsToo, denial.asksToExecute)
    // What isn't UTF-8 can't be asked for.
    guard wall == "files", !target.unicodeScalars.contains("\u{fffd}") else { return }
    isAbsent =
      if writes {
        // Something can be made wherever there is a folder for it, here or in what the plugin alone sees.
        !exists(target) && !(target.parentFolder.map(exists) ?? true)
          && !RunnerView.own.contains { target.lies(in: $0) }
      } else {
        meansLink ? !isNamed(target) : !exists(target)
      }
  }
}

extension Observed {
  /// What a wall kept the plugin from.
  var refusals: [Denial] { denials.filter { !$0.isAbsent && !$0.isQuestion } }

  var ending: String { outcome.kind.rawValue + (outcome.detail.isEmpty ? "" : ": \(outcome.detail)") }

  /// With the line of the policy that lets it go on, or of the test where that has the limit.
  var endingWithRemedy: String {
    guard let limitRemedy else { return ending }
    return "\(ending); \(ownLimits.contains(limitRemedy.name) ? "test" : "policy"): \(limitRemedy.text)"
  }

  var whatWasDenied: String { denials.isEmpty ? "nothing was denied" : "denied only \(Self.list(denials))" }

  static func list(_ denials: [Denial]) -> String {
    let shown = denials.prefix(4).map { Printable.text($0.text, limit: 120) }.joined(separator: ", ")
    return denials.count > 4 ? "\(shown) and \(denials.count - 4) more" : shown
  }

  /// With what would let the plugin have them.
  static func listWithRemedies(_ denials: [Denial]) -> String {
    let remedies = denials.prefix(4).compactMap(\.remedy)
    return "denied \(list(denials))" + remedies.map { "; \(Printable.text($0, limit: 200))" }.joined()
  }
}

extension Observed.Denial {
  /// Whether private memory was to become code: mprotect(2), or mmap(2) with PROT_EXEC, MAP_PRIVATE and MAP_ANONYMOUS, as the
  /// report writes them.
  var wantsWrittenCode: Bool {
    let values = SystemCallText.values(in: target)
    return switch call {
    case "mprotect": values.first.map { $0 & 4 != 0 } ?? false
    // Not for what is locked or huge, which no policy grants.
    case "mmap":
      wall == "seccomp" && values.count == 2 && values[0] & 4 != 0 && values[1] & 0x22 == 0x22
        && values[1] & CallFlags.lockedOrHuge == 0
    default: false
    }
  }
}
