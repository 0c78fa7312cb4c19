internal import AssetModel
internal import Basics
internal import Foundation
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
package import PluginHost
package import Sandbox

/// What would let a plugin have what it was denied, and what that would show it. Where no policy can, what else helps.
package struct Remedy: Sendable, Equatable {
  /// Lines of a policy of version 2; nil: none allows it.
  package var line: String?
  /// What the line exposes, or what to do without one.
  package var words: String

  /// In one line, as a trace has it.
  package var text: String { line.map { "policy: \($0.replacing("\n", with: " and "))  # \(words)" } ?? words }

  /// Several lines of a policy stand below each other, as they are pasted there; a sentence is set off.
  package var paragraph: [String] {
    guard let line, line.contains("\n") else { return ["  \(text)"] }
    let heading = "  policy, these lines together, in one of version 2:  # \(words)"
    return [heading] + line.split(separator: "\n").map(String.init)
  }

  /// What there is to know of this machine's paths.
  package struct Machine {
    /// Whether a path is a folder; nil: it isn't there.
    package var isFolder: (String) -> Bool?
    /// Without symbolic links; the path itself where it leads to nothing.
    package var real: (String) -> String = { $0 }
    package var isDevice: (String) -> Bool = { _ in false }
    /// Whether it can't be told if it is there, for a folder on the way that this user may not search.
    package var isHidden: (String) -> Bool = { _ in false }
    /// Why a plugin couldn't read a file that is granted to it, as a clause about the file; nil: it could.
    package var whyUnreadable: (String) -> String? = { _ in nil }
    /// The names to which links lead on the way to a path (`LinkHops`).
    package var hops: (String) -> [String] = { _ in [] }
    /// Of the path itself, wherever it leads.
    package var isLink: (String) -> Bool = { _ in false }
    /// The link on the way to a path that a plugin may have put there.
    package var plantedLink: (String, Policy) -> String? = { _, _ in nil }
    /// Whether a path lies in a folder that plugins may write to.
    package var isPlugins: (String, Policy) -> Bool = { _, _ in false }

    package init(isFolder: @escaping (String) -> Bool?) { self.isFolder = isFolder }

    fileprivate var folders: PolicyPath.Machine {
      PolicyPath.Machine(isFolder: { isFolder($0) ?? false }, real: real, hops: hops)
    }

    package static var this: Machine {
      var machine = Machine(isFolder: Files.isFolder)
      machine.real = { path in (try? Files.real(path)) ?? path }
      machine.isDevice = { path in
        Files.mode(of: path).map { [S_IFCHR, S_IFBLK].contains($0 & S_IFMT) } ?? false
      }
      machine.isHidden = { Files.isThere($0) == nil }
      machine.whyUnreadable = Self.whyUnreadable
      machine.hops = { LinkHops.all(from: $0, link: Files.link) }
      machine.isLink = { Files.link($0) != nil }
      machine.plantedLink = { PluginReach(under: $1).plantedLink(on: $0) }
      machine.isPlugins = { PluginReach(under: $1).holds($0) }
      return machine
    }

    /// Root reads everything; its plugins have the rights of each file's owner.
    private static func whyUnreadable(_ path: String) -> String? {
      guard geteuid() == 0 else { return access(path, R_OK) == 0 ? nil : "which you may not read" }
      let isForOwner = Files.mode(of: path).map { $0 & S_IRUSR != 0 } ?? true
      return isForOwner ? nil : "whose mode doesn't let its owner read it, nor a plugin: chmod u+r does"
    }
  }

  package init(for denial: RunReport.Denial, under policy: Policy, on machine: Machine = .this) {
    if let rule = denial.rule {
      self = Remedy(line: nil, words: Self.removal(of: rule, denial.operation))
      return
    }
    if let words = Self.untold(denial, machine) {
      self = Remedy(line: nil, words: words)
      return
    }
    switch denial.wall {
    case "files": self = Self.file(denial, policy, machine)
    case "limits": self = Self.limit(denial, policy.limits)
    case "network" where denial.operation == "lookup":
      self = Remedy(
        line: nil,
        words:
          "it asked for an address and connected to none; 'network' lists a name with its port, as in \(denial.target):443"
      )
    case "network": self = Self.connection(denial.target)
    case _ where SystemCalls.startsProcess(denial.operation, shown: denial.target):
      self = Self.process(policy)
    case _ where denial.operation == "execve" && denial.target.isAbsolutePath:
      let path = Self.file(of: denial, machine)
      self =
        Self.rejection(of: path, denial, machine).map { Remedy(line: nil, words: $0) }
        ?? Self.starting(path, policy, machine, isFirst: policy.processes == 0)
    case _ where Self.wantsLockedOrHuge(denial): self = Remedy(line: nil, words: Self.lockedOrHuge)
    case _ where denial.operation == "mmap" && denial.target.isAbsolutePath:
      self = Self.mapping(Self.file(of: denial, machine), policy, machine)
    case _ where denial.operation == "mmap" && Self.mapsFile(denial.target):
      self = Remedy(
        line: Self.laterCode,
        words: "lets it map code of its bundle, the runtime and what is under 'execute'; --observe names the file")
    case _ where SocketPairs.areMade(by: denial.operation, denial.target) && !policy.hasNetwork:
      self = Self.network(
        policy, "gives it two ends of a TCP connection within its run; it can connect to nothing else")
    case _ where Observed.Denial(denial, exists: { _ in true }, isNamed: { _ in true }).wantsWrittenCode:
      self = Remedy(line: WrittenCodeSearch.line, words: "lets it run code that it has written itself")
    case _ where SocketPairs.isConnecting(denial.operation, denial.target) && !policy.hasNetwork:
      self = Self.network(
        policy,
        "gives it sockets that reach nothing; the report then names the host and port to list instead"
      )
    default: self = Remedy(line: nil, words: Self.calls(denial.operation, denial.target))
    }
    words += lineInTheWay(policy)
  }

  /// A policy names a path once.
  private func lineInTheWay(_ policy: Policy) -> String {
    guard let line, let new = PatternGrant.Access.allCases.first(where: { line.contains("files: {\($0.rawValue): [") })
    else { return "" }
    // What is offered comes last, behind what may be written already.
    let former = (policy.read + policy.list).first { path in
      let entry = PolicyText.quoted(PathPattern.escaped(path))
      return line.hasSuffix("[\(entry)]}") || line.hasSuffix(", \(entry)]}")
    }
    guard let access = former.flatMap(policy.access(naming:)), access != new else { return "" }
    return "; take it out of '\(access.rawValue)', which '\(new.rawValue)' includes"
  }

  /// A network of the run's own, which a policy can't have beside a rule of its own against the calls for it.
  private static func network(_ policy: Policy, _ words: String) -> Remedy {
    let denied = SystemCalls.connecting.filter {
      policy.systemCalls.refused.contains($0) || policy.systemCalls.onDenied[$0] == .kill
    }
    guard denied.isEmpty else {
      let names = denied.sorted().joined(separator: ", ")
      return Remedy(
        line: nil,
        words:
          "'network: pairs' \(words); the policy's own 'systemCalls', or what it extends, denies \(names): remove that first"
      )
    }
    return Remedy(line: "network: pairs", words: words)
  }

  private static func removal(of rule: String, _ call: String) -> String {
    let isNamed = rule.hasSuffix("[\(call)]}")
    let group = isNamed ? SystemCallGroup.all.first { $0.calls.contains(call) } : nil
    let words = group.map { ", or \($0.name), the group that it is in" } ?? ""
    return
      "the policy's own rule decides this: remove '\(rule)'\(words), in it or in what it extends; of a policy that comes with outrider, take another one"
  }

  private static func file(of denial: RunReport.Denial, _ machine: Machine) -> String {
    let path = denial.path ?? denial.target
    return PolicyPath.asked(path, on: machine.folders) ?? path
  }

  /// Why a path isn't followed through its `..`; nil: it has none, or it is known what it means.
  private static func untold(_ denial: RunReport.Denial, _ machine: Machine) -> String? {
    let path = denial.path ?? denial.target
    guard denial.wall == "files" || ["execve", "mmap"].contains(denial.operation), path.isAbsolutePath,
      path.pathNames.contains(".."), PolicyPath.asked(path, on: machine.folders) == nil
    else { return nil }
    return PolicyPath.untold
  }

  static func files(_ access: String, _ path: String) -> String {
    // A name with a pattern's characters in it is that name.
    "files: {\(access): [\(PolicyText.quoted(PathPattern.escaped(path)))]}"
  }

  init(line: String?, words: String) { (self.line, self.words) = (line, words) }

  private static func file(_ denial: RunReport.Denial, _ policy: Policy, _ machine: Machine) -> Remedy {
    let path = file(of: denial, machine)
    if let reason = rejection(of: path, denial, machine) { return Remedy(line: nil, words: reason) }
    if denial.namesLink || SystemCalls.linkReaders.contains(denial.operation), !denial.writes,
      let remedy = Self.ofLink(path, policy, machine)
    {
      return remedy
    }
    if path.isAbsolutePath, let link = machine.plantedLink(path, policy) {
      return Remedy(
        line: nil, words: "no policy grants it by this name: \(planted(link, path, real: machine.real(path)))")
    }
    if let device = PolicyDevice.allCases.first(where: { $0.path == path }), !policy.devices.contains(device) {
      let all = policy.devices.union([device]).map(\.rawValue).sorted().joined(separator: ", ")
      return Remedy(line: "devices: [\(all)]", words: "lets it open that device")
    }
    if denial.operation == "mmap" {
      return Self.mapping(path, policy, machine)
    }
    if denial.operation == "execve" {
      return starting(path, policy, machine, isFirst: false)
    }
    if denial.writes { return change(path, denial, policy, machine) }
    // What is asked of a folder and not of what lies in it.
    if ["chdir", "statfs"].contains(denial.operation), machine.isFolder(path) == true, PolicyPath.listing(path) == .list
    {
      return Remedy(line: files("list", path), words: "shows the names in it; under 'read', all that lies in it")
    }
    return reading(path, policy, machine)
  }

  /// What asks for a link, and not for what that leads to; nil: there is no other way than to grant what it names.
  private static func ofLink(_ path: String, _ policy: Policy, _ machine: Machine) -> Remedy? {
    guard machine.isLink(path) else {
      // Whether a folder is a link is asked on the way to what lies in it, as realpath(3) does.
      guard machine.isFolder(path) == true, path != "/" else { return nil }
      return Remedy(
        line: files(listing(path), path),
        words: "shows \(whatIsListed(path)) in it; it is also there once something that lies in it is granted")
    }
    // By the link's own name a plugin has what it leads to.
    guard let folder = path.parentFolder, folder != "/", machine.plantedLink(folder, policy) == nil else { return nil }
    return Remedy(
      line: files(listing(folder), folder),
      words: "shows where that link leads, and \(whatIsListed(folder)) in its folder")
  }

  private static func listing(_ folder: String) -> String { PolicyPath.listing(folder) == .list ? "list" : "read" }

  private static func whatIsListed(_ folder: String) -> String {
    PolicyPath.listing(folder) == .list ? "the names" : "all that is"
  }

  static let otherDevice =
    "no policy grants a device but \(PolicyDevice.allCases.map(\.rawValue).joined(separator: ", "))"

  /// Why no policy grants it; nil: one may.
  private static func rejection(of path: String, _ denial: RunReport.Denial, _ machine: Machine) -> String? {
    if path == "/" { return "no policy grants it: it is everything; grant the folders that it lists" }
    let real = machine.real(path)
    // A link to a program, a folder or a descriptor there leads elsewhere for another process that follows it.
    if let reason = RevealingFolder.rejectionReason(for: path, hops: machine.hops(path) + [real]) {
      return "no policy grants it: it \(reason)"
    }
    if machine.isFolder(path) == nil, path.unicodeScalars.contains("\u{fffd}") {
      return "no policy can name it: its name isn't UTF-8"
    }
    let isStream = path.hasPrefix("/dev/") && !path.hasPrefix("/dev/shm/") && real != path
    if isStream || machine.isDevice(real), !PolicyDevice.allCases.contains(where: { $0.path == path }) {
      return otherDevice
    }
    return nil
  }

  /// Why a path isn't followed. `link`: on the way to it. `real`: what it leads to.
  static func planted(_ link: String, _ path: String, real: String) -> String {
    let why =
      "the symbolic link '\(Printable.text(link, limit: 120))' on the way lies in a folder that plugins may write to, so that one of them may have made it"
    return real == path
      ? why : "\(why); if the plugin is to have \(Printable.text(real, limit: 400)), grant that by its own name"
  }

  private static func reading(_ path: String, _ policy: Policy, _ machine: Machine) -> Remedy {
    switch machine.isFolder(path) {
    case nil where machine.isHidden(path):
      Remedy(line: nil, words: "\(hidden); neither can a plugin that you run have it")
    case nil: Remedy(line: nil, words: "it isn't on this machine either")
    case true?:
      Remedy(
        line: files("read", path),
        words: PolicyPath.listing(path) == .list
          ? "shows all that lies in it; under 'list', names alone\(listed(in: path, policy))"
          : "shows all that lies in it")
    case false? where RunnerView.networkFiles.contains(path):
      Remedy(
        line: files("read", path),
        words:
          "shows that file; to connect it needs the host and its port under 'network' instead, and has a file of its own there"
      )
    case false?:
      Remedy(
        line: files("read", path),
        words: "shows that file" + (machine.whyUnreadable(path).map { ", \($0)" } ?? ""))
    }
  }

  static let hidden = "it lies in a folder that you may not search, so that whether it is there can't be told"

  private static func change(
    _ path: String, _ denial: RunReport.Denial, _ policy: Policy, _ machine: Machine
  ) -> Remedy {
    if let own = ownChange(path, policy) { return own }
    if SystemCalls.looks.contains(denial.operation) {
      return offering(
        path, policy, machine, "lets it write there; it only asked whether it may, and may do without")
    }
    if machine.isFolder(path) == false, !SystemCalls.changesFolder(denial.operation, flags: nil) {
      return offering(path, policy, machine, "lets it change that file")
    }
    // A file without a name (open(2), O_TMPFILE): a folder is opened for writing for nothing else.
    if machine.isFolder(path) == true, SystemCalls.opening.contains(denial.operation) {
      return offering(path, policy, machine, "lets it change all that lies in it")
    }
    guard let folder = path.parentFolder, folder != "/" else {
      return Remedy(line: nil, words: "nothing is written in the root; its container is $HOME")
    }
    if policy.access(to: folder) == .write, policy.grants.contains(where: { $0.isExactly(path) }) {
      return Remedy(
        line: nil,
        words:
          "what has a line of its own can't be moved, replaced or removed: leave that line out, and the plugin has it with \(Printable.text(folder, limit: 400))"
      )
    }
    if policy.access(to: path) == .write,
      let part = policy.grants.first(where: { $0.lies(below: path) && policy.access(to: $0) < .write })
    {
      return Remedy(
        line: nil,
        words:
          "a folder around what the policy grants less of can't be moved, replaced or removed, since that would go with it: leave the line of \(Printable.text(part, limit: 400)) out, or move what else lies in the folder"
      )
    }
    return machine.isFolder(folder) == true
      ? offering(folder, policy, machine, "lets it change all that lies in it")
      : Remedy(line: nil, words: machine.isHidden(path) ? hidden : "\(folder) isn't on this machine either")
  }

  /// A folder in one that is read has no line under 'list' of its own.
  private static func listed(in path: String, _ policy: Policy) -> String {
    let held = policy.list.filter { $0.lies(below: path) }
    guard let first = held.first else { return "" }
    let others = held.count == 1 ? "" : " and \(held.count - 1) more in it"
    return "; with either, take \(Printable.text(first, limit: 400))\(others) out of 'list'"
  }

  /// To write what a policy may grant.
  private static func offering(
    _ path: String, _ policy: Policy, _ machine: Machine, _ words: String
  ) -> Remedy {
    let real = machine.real(path)
    let reason =
      MachineFolder.rejectionReason(forWriting: real)
      ?? RevealingFolder.rejectionReason(for: path, hops: machine.hops(path) + [real])
    if let reason {
      return Remedy(line: nil, words: "no policy lets it write there: \(Printable.text(path, limit: 400)) \(reason)")
    }
    return Remedy(line: writing(path, policy), words: words)
  }

  /// With what it may write already: a list of one's own takes the place of what holds without one.
  private static func writing(_ path: String?, _ policy: Policy, _ own: [String] = []) -> String {
    let kept = [("$CONTAINER", policy.writesContainer), ("$TMP", policy.writesTemporary)]
      .filter { $0.1 || own.contains($0.0) }.map(\.0)
    let all = kept + [path].compactMap(\.self).map { PolicyText.quoted(PathPattern.escaped($0)) }
    return "files: {write: [\(all.joined(separator: ", "))]}"
  }

  /// What lies in the plugin's view alone, and the runtime.
  private static func ownChange(_ path: String, _ policy: Policy) -> Remedy? {
    if path.lies(in: RunnerView.container) {
      return Remedy(line: writing(nil, policy, ["$CONTAINER"]), words: "lets it change its container")
    }
    if path.lies(in: RunnerView.temporary) {
      guard !policy.writesTemporary else {
        return Remedy(
          line: nil,
          words: "its \(RunnerView.temporary) is a folder of its own, and what the machine's holds isn't in it")
      }
      return Remedy(line: writing(nil, policy, ["$TMP"]), words: "lets it write in its scratch folder")
    }
    if path.lies(in: RunnerView.bundle) || path.lies(in: RunnerView.manifest) {
      return Remedy(line: nil, words: "a plugin only reads its bundle and its manifest; its container is $HOME")
    }
    guard RunnerView.runtime.contains(where: { path.lies(in: $0) }) else { return nil }
    return Remedy(
      line: nil,
      words:
        "something in it was to be changed, and no policy lets a plugin change the runtime; Python writes no caches there with --env PYTHONDONTWRITEBYTECODE=1"
    )
  }

  private static func limit(_ denial: RunReport.Denial, _ limits: Limits) -> Remedy {
    switch denial.operation {
    case "mmap":
      return Remedy(
        line: "limits: {memory: \(limits.memory >> 19)MiB}", words: "twice as much shared and private memory")
    case "clone":
      return Remedy(line: "limits: {threads: \(max(limits.threads * 2, 1))}", words: "twice as many threads")
    case "fork":
      let processes = DeniedProcesses(denial.target)
      let enough = processes.enough(upTo: Policy.maxProcesses)
      guard enough >= processes.count else {
        return Remedy(line: nil, words: "no policy allows more than \(Policy.maxProcesses) at one time")
      }
      return Remedy(line: "processes: \(enough)", words: "it had \(processes.count) at one time, and may want more")
    case _ where SystemCalls.opening.contains(denial.operation):
      return Remedy(
        line: "limits: {openFiles: \(min(limits.openFiles * 2, Limits.openFilesRange.upperBound))}",
        words: "twice as many open files")
    case "fallocate", SystemCalls.lengthening:
      let doubled = LimitRemedy.size(twice: min(limits.fileSize, Limits.maxBytes / 2))
      return Remedy(line: "limits: {fileSize: \(doubled)}", words: "files twice as long")
    default: return Remedy(line: nil, words: "this limit is fixed: it bounds what the kernel holds for a plugin")
    }
  }

  private static func connection(_ target: String) -> Remedy {
    guard let endpoint = try? NetworkEndpoint(target) else {
      return Remedy(line: nil, words: "no policy lets it connect there")
    }
    return Remedy(
      line: "network: [\(PolicyText.quoted(endpoint.text))]",
      words: "lets it send everything that it can read to that port of that machine")
  }
}
