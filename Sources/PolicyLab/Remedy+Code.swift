internal import AssetModel
internal import Basics
internal import Glibc
internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// What is run or mapped as code, and what is started.
extension Remedy {
  static func process(_ policy: Policy) -> Remedy {
    started(
      policy, "processes: 1", "lets it start another process, whose time and memory count as the plugin's own")
  }

  /// No policy has processes beside a rule of its own against the calls for them.
  private static func started(_ policy: Policy, _ line: String, _ words: String) -> Remedy {
    let denied = policy.deniedStarts
    guard !denied.isEmpty else { return Remedy(line: line, words: words) }
    return Remedy(
      line: nil,
      words:
        "'processes: 1' \(words); the policy's own 'systemCalls', or what it extends, denies \(denied.sorted().joined(separator: ", ")): remove that first; of a policy that comes with outrider, take another one"
    )
  }

  /// Why no run maps a file as code that a plugin may have written.
  static let codeOfPlugins = "it lies in a folder that plugins may write to, and one could map what it wrote as code"

  /// `isFirst`: the plugin may start no process yet.
  static func starting(_ path: String, _ policy: Policy, _ machine: Machine, isFirst: Bool) -> Remedy {
    if let remedy = ofOwnView(path, policy, "lets it start programs of its bundle", isFirst: isFirst) { return remedy }
    guard machine.isFolder(path) == false else {
      return Remedy(
        line: nil, words: machine.isHidden(path) ? hidden : "it isn't on this machine either, as a file")
    }
    if machine.isPlugins(path, policy) { return codeIsPlugins }
    let words = "lets it start that program, which may do what the plugin may"
    return isFirst
      ? started(policy, "processes: 1\n\(execution(of: path))", words)
      : Remedy(line: execution(of: path), words: words)
  }

  private static let codeIsPlugins = Remedy(
    line: nil, words: "no policy grants it as code: \(codeOfPlugins); copy it to a folder of its own")

  private static let writtenCode = Remedy(
    line: nil, words: "what a plugin may write is never code: load what the policy grants to be executed")

  /// Of what the plugin may write, and of what lies in its view alone, where no path of the machine's is to be granted; nil: it is the
  /// machine's. What of that is granted below /tmp, say, is there in place of the plugin's own. `words`: what the line lets it do.
  private static func ofOwnView(
    _ path: String, _ policy: Policy, _ words: String, isFirst: Bool = false
  ) -> Remedy? {
    switch policy.access(to: path) {
    case .write: return writtenCode
    case .list, .read: return nil
    case .none: break
    }
    if path.lies(in: RunnerView.bundle) {
      let code = policy.mapsCodeLater ? [] : [laterCode]
      if isFirst { return started(policy, (["processes: 1"] + code).joined(separator: "\n"), words) }
      return code.first.map { Remedy(line: $0, words: words) } ?? mappedOtherwise
    }
    if path.lies(in: RunnerView.manifest) {
      return Remedy(line: nil, words: "the manifest is data, which no policy lets a plugin run")
    }
    let (isContainer, isTemporary) = (isOfContainer(path), path.lies(in: RunnerView.temporary))
    guard isContainer || isTemporary else { return nil }
    return isContainer && policy.writesContainer || isTemporary && policy.writesTemporary ? writtenCode : keptCode
  }

  private static func isOfContainer(_ path: String) -> Bool {
    path.lies(in: RunnerView.container) || path.lies(in: RunnerView.containers)
  }

  /// Of a folder of the plugin's own that this policy keeps it from writing.
  private static let keptCode = Remedy(
    line: nil,
    words:
      "under another policy it may write there, and what a plugin may write is never code: load what the policy grants to be executed"
  )

  /// Of what may be mapped as code already.
  private static let mappedOtherwise = Remedy(
    line: nil,
    words: "the policy lets it map that file's code, and code of a file is never writable: map it without PROT_WRITE")

  static func mapping(_ path: String, _ policy: Policy, _ machine: Machine) -> Remedy {
    if let remedy = ofOwnView(path, policy, "lets it map code of its bundle and of the runtime while it runs") {
      return remedy
    }
    if machine.isPlugins(path, policy) { return codeIsPlugins }
    return Remedy(line: execution(of: path), words: "lets it map that file's code while it runs")
  }

  /// Whether of mmap(2), as a report shows it, the reason is how the pages are to be kept, and not what is in them.
  static func wantsLockedOrHuge(_ denial: RunReport.Denial) -> Bool {
    guard denial.operation == "mmap", denial.wall == "seccomp", !denial.target.isAbsolutePath else { return false }
    let values = SystemCallText.values(in: denial.target)
    return values.count == 2 && values[1] & CallFlags.lockedOrHuge != 0
  }

  static let lockedOrHuge =
    "no policy grants huge pages (MAP_HUGETLB) or locked memory (MAP_LOCKED), which are taken from all programs of the machine: programs normally go on without"

  /// Of mmap(2)'s protection and flags in hexadecimal: code of a file that isn't written, which a loader maps.
  static func mapsFile(_ words: String) -> Bool {
    let numbers = words.split(separator: ",").map { word in
      let digits = word.drop { $0 == " " }
      return digits.hasPrefix("0x") ? UInt64(digits.dropFirst(2), radix: 16) : nil
    }
    guard numbers.count == 2, let protection = numbers[0], let flags = numbers[1] else { return false }
    return protection & UInt64(PROT_WRITE) == 0 && flags & UInt64(MAP_ANONYMOUS) == 0
  }

  /// What lets a plugin map code of its bundle and of the runtime while it runs.
  static let laterCode = "executableMemory: \(Policy.ExecutableMemory.later.rawValue)"

  private static func execution(of path: String) -> String { "\(laterCode)\n\(files("execute", path))" }
}
