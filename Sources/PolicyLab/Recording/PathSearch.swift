internal import Basics
internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// Finds out which files and folders a plugin needs, and as what: what was found in a round is granted in the next. A pure value.
struct PathSearch {
  private let base: Policy
  private let bounds: PolicyRecorder.Bounds
  private let refusal: GrantRefusal
  /// Folders that were there in the round before, for what is granted in them.
  private var hasBeenThere: Set<String> = []
  /// Folders in which it takes files away or puts others in their place.
  private var replacedIn: Set<String> = []
  /// Those files and folders.
  private var replaced: Set<String> = []
  /// Folders that are listed for a link in them.
  private var foldersOfLinks: Set<String> = []
  /// Folders in which it makes names for files that it has elsewhere, or takes them away for that.
  private var movedIn: Set<String> = []

  init(base: Policy, bounds: PolicyRecorder.Bounds) {
    (self.base, self.bounds) = (base, bounds)
    refusal = GrantRefusal(base: base, bounds: bounds)
  }

  /// Whether another round is needed, with what `policy` grants then. `wantsHosts`: it wanted to connect somewhere.
  mutating func handle(
    _ round: [Observed], on machine: PolicyRecorder.Machine, wantsHosts: Bool, _ policy: inout Policy,
    _ recording: inout Recording
  ) -> Bool {
    let context = RoundContext(
      policy: policy, machine: machine, plantedLink: machine.plantedLinks(policy), wantsHosts: wantsHosts)
    var noticed = Noticed()
    for denial in round.flatMap(\.denials) where denial.wall == "files" && !Self.isOfCode(denial) {
      notice(denial, in: context, &noticed, &recording)
    }
    var found = noticed.access
    let plantedLink = context.plantedLink
    // A folder is there as soon as something in it is granted: whether that is enough, the next round tells.
    let new = found.filter { policy.access(to: $0.key) < $0.value }.keys
    for place in new where !noticed.used.contains(place) && new.contains(where: { $0.lies(below: place) }) {
      if hasBeenThere.insert(place).inserted { found[place] = nil }
    }
    fold(&found, machine, policy, &recording)
    var hasGrown = growCode(round, machine, &policy, &recording)
    var followed: [(path: String, real: String)] = []
    // A folder before what it holds, which needs no line of its own then.
    for (path, access) in found.sorted(by: { $0.key < $1.key })
    where policy.access(to: path) < access && !Self.isCode(path, access, policy) {
      Self.grant(path, access, &policy)
      hasGrown = true
    }
    hasGrown = dropReplaced(&policy) || hasGrown
    if hasGrown { dropPlanted(machine, &policy, &recording) }
    // A link in a folder that is granted leads out of it, and so may what it leads to.
    for (path, access) in found where !hasGrown && policy.access(to: path) >= access {
      let hop = machine.hops(path).first { policy.access(to: $0) < access && plantedLink($0) == nil }
      guard let hop, refusal.reason(named: hop, access) == nil else { continue }
      Self.grant(hop, access, &policy)
      followed.append((path, hop))
    }
    for (path, real) in followed { recording.follow(path, to: real) }
    hasGrown = hasGrown || !followed.isEmpty
    dropHeld(&policy, machine)
    noteCrossing(policy, &recording)
    // One that is granted and still denied isn't the policy's to give.
    for (path, access) in found where !hasGrown && policy.access(to: path) >= access {
      recording.note = "\(path) is granted, and still denied"
    }
    (policy.read, policy.write, policy.list) = (policy.read.sorted(), policy.write.sorted(), policy.list.sorted())
    return hasGrown
  }

  /// With what policy the runs of one round were made, and where.
  private struct RoundContext {
    let policy: Policy
    let machine: PolicyRecorder.Machine
    let plantedLink: (String) -> String?
    let wantsHosts: Bool
  }

  /// What one round was denied and may be granted.
  private struct Noticed {
    var access: [String: PathAccess] = [:]
    /// What more than its presence was asked of.
    var used: Set<String> = []
  }

  private mutating func notice(
    _ denial: Observed.Denial, in context: RoundContext, _ found: inout Noticed, _ recording: inout Recording
  ) {
    let asked = PolicyPath.asked(denial.target, on: context.machine.folders)
    let isReviewed = bounds.reviewed.contains { (asked ?? denial.target).lies(in: $0) }
    if denial.isQuestion, !isReviewed {
      recording.mention("it asked whether it may write there, and may do without", denial)
      return
    }
    if denial.writes, let reason = GrantRefusal.reason(forChanging: asked ?? denial.target) {
      recording.add(.refused(reason), denial.target, denial)
      return
    }
    guard let path = asked,
      case (var place, let access)? = grant(for: denial, path, context.machine)
    else {
      recording.add(Self.whyNot(denial.target, context.machine), denial.target, denial)
      return
    }
    if NetworkSearch.isOwn(place, under: context.policy) { return }
    if access == .list, place != path { foldersOfLinks.insert(place) }
    // On the way to what may be granted a folder is there with the names in that.
    if access == .list, refusal.reason(for: place, access, context.machine) != nil,
      let below = bounds.reviewed.filter({ $0.lies(below: place) }).sorted().first(where: {
        context.machine.kind($0) == .folder
      })
    {
      place = below
    }
    if access == .write, place != path, context.machine.kind(path) != .absent {
      replacedIn.insert(place)
      replaced.insert(path)
    }
    if access == .write, place != path, Self.crossing.contains(denial.call) { movedIn.insert(place) }
    let isForNetwork = context.wantsHosts && RunnerView.networkFiles.contains(place)
    let reason =
      isForNetwork
      ? "with hosts under 'network' it has one of its own"
      : refusal.reason(for: place, access, context.machine)
        ?? (context.policy.access(to: place) < access ? Self.planted(place, context.plantedLink, context.machine) : nil)
    guard let reason else {
      // Who was denied to read a file often tries to write it next: whether that is needed, the next round tells. Of several
      // attempts by one call it is known that one of them would write.
      let isTriedBoth = found.access[place].map { $0 != access } ?? (access == .write && denial.count > 1)
      found.access[place] =
        isTriedBoth && context.machine.kind(place) == .file && context.policy.access(to: place) == .none
        ? .read : max(found.access[place] ?? .none, access)
      // To make a folder that is there asks for its presence as well.
      let asks = SystemCalls.looks.contains(denial.call)
      let isTold = !denial.writes && SystemCalls.changesFolder(denial.call, flags: nil)
      if !asks, !isTold { found.used.insert(place) }
      recording.add(.granted, place, denial)
      return
    }
    recording.add(.refused(reason), place, denial)
  }

  /// A file with a line of its own is a mount of its own, which can't be replaced or taken away, and neither can the folders around it.
  /// Whether there was one.
  private func dropReplaced(_ policy: inout Policy) -> Bool {
    let before = policy.grants.count
    let folders = replacedIn.intersection(policy.write)
    let around = replaced.filter { Self.parent(of: $0).map(folders.contains) ?? false }
    func isHeld(_ path: String) -> Bool {
      guard !base.grants.contains(path) else { return false }
      return Self.parent(of: path).map(folders.contains) ?? false || around.contains { path.lies(below: $0) }
    }
    policy.read.removeAll(where: isHeld)
    policy.write.removeAll(where: isHeld)
    return policy.grants.count < before
  }

  private static let crossing = SystemCalls.moves.union(["link", "linkat"])

  /// Folders that are granted apart are mounts of their own, between which nothing is moved or linked (rename(2), EXDEV); no wall denies
  /// that.
  private func noteCrossing(_ policy: Policy, _ recording: inout Recording) {
    let folders = movedIn.filter { policy.write.contains($0) }.sorted()
    guard recording.note == nil, let first = folders.first,
      let second = folders.dropFirst().first(where: { !$0.lies(in: first) })
    else {
      return
    }
    recording.note =
      "it moves or links files, and \(first) and \(second) are granted apart: between them that fails with EXDEV; a policy that grants a folder which holds both lets it"
  }

  /// No run takes a name that leads through a link which a plugin may have made, as in a folder that may be written since.
  private func dropPlanted(
    _ machine: PolicyRecorder.Machine, _ policy: inout Policy, _ recording: inout Recording
  ) {
    let plantedLink = machine.plantedLinks(policy)
    let own = Set(base.grants)
    for path in policy.grants where !own.contains(path) {
      guard let reason = Self.planted(path, plantedLink, machine) else { continue }
      for list in [\Policy.read, \.write, \.libraries, \.list] {
        policy[keyPath: list].removeAll { $0.isExactly(path) }
      }
      recording.refuse(path, reason)
    }
  }

  /// Why a path can't be granted by this name; nil: no plugin has made a link on the way.
  private static func planted(
    _ path: String, _ link: (String) -> String?, _ machine: PolicyRecorder.Machine
  ) -> String? {
    link(path).map { Remedy.planted($0, path, real: machine.real(path)) }
  }

  /// Why a path is nothing that could be granted. What isn't UTF-8 is told with U+FFFD in the place of it.
  private static func whyNot(_ path: String, _ machine: PolicyRecorder.Machine) -> Recording.Place {
    if machine.kind(path) != .absent { return path.pathNames.contains("..") ? .refused(PolicyPath.untold) : .absent }
    return path.unicodeScalars.contains("\u{fffd}")
      ? .refused("no policy can name it: its name isn't UTF-8") : .absent
  }

  /// What lies in a folder that has been granted since has no line of its own.
  private func dropHeld(_ policy: inout Policy, _ machine: PolicyRecorder.Machine) {
    let all = policy
    // What a link in a granted folder leads to is granted by the link's own line alone.
    func isHere(_ path: String, _ parent: String) -> Bool {
      machine.real(path) == machine.real(parent) + path.rest(after: parent)
    }
    // No run has a folder to be listed in one that is read.
    policy.list.removeAll { path in
      guard !base.list.contains(path), let parent = Self.parent(of: path) else { return false }
      let access = all.access(to: parent)
      return access > .list || access == .list && isHere(path, parent)
    }
    guard bounds.filesOfFolder != nil else { return }
    policy.read.removeAll { path in
      guard !base.read.contains(path), let parent = Self.parent(of: path) else { return false }
      return all.access(to: parent) == .read && isHere(path, parent)
    }
  }

  private static func grant(_ path: String, _ access: PathAccess, _ policy: inout Policy) {
    policy.read.removeAll { $0.isExactly(path) }
    policy.list.removeAll { $0.isExactly(path) }
    switch access {
    case .write: policy.write.append(path)
    case .list: policy.list.append(path)
    case .read, .none: policy.read.append(path)
    }
  }

  /// Files whose code it wanted to map while it ran, and those that it wanted to execute.
  private func growCode(
    _ round: [Observed], _ machine: PolicyRecorder.Machine, _ policy: inout Policy, _ recording: inout Recording
  ) -> Bool {
    let (before, mappedLater) = (policy.libraries, policy.mapsCodeLater)
    let (plantedLink, isPlugins) = (machine.plantedLinks(policy), machine.isPlugins(policy))
    for denial in round.flatMap(\.denials) where wantsCode(denial) {
      let asked = PolicyPath.asked(denial.target, on: machine.folders)
      let target = asked ?? denial.target
      if target.lies(in: RunnerView.bundle), policy.access(to: target) == .none {
        // What lies in its bundle has no line of its own: it is code whenever any file is.
        guard !mappedLater else { continue }
        policy.executableMemory = max(policy.executableMemory, .later)
        recording.add(.granted, Remedy.laterCode, denial)
        continue
      }
      guard let path = asked, machine.kind(path) == .file else { continue }
      if let reason = refusal.reason(for: path, .read, machine) ?? Self.planted(path, plantedLink, machine)
        ?? (isPlugins(path) ? Remedy.codeOfPlugins : nil)
      {
        recording.add(.refused(reason), path, denial)
      } else {
        recording.add(.granted, path, denial)
        if !policy.libraries.contains(where: { path.lies(in: $0) }) {
          policy.libraries.append(path)
          // What is mapped or executed is read as well.
          policy.read.removeAll { $0.isExactly(path) }
        }
      }
    }
    if let count = bounds.filesOfFolder {
      for (folder, paths) in Dictionary(grouping: policy.libraries, by: { Self.parent(of: $0) ?? "/" })
      where paths.count >= count && refusal.reason(for: folder, .read, machine) == nil {
        policy.libraries.removeAll { paths.contains($0) }
        policy.libraries.append(folder)
        for path in paths { recording.fold(path, into: folder) }
      }
    }
    policy.libraries.sort()
    // Another order is no growth.
    return Set(policy.libraries) != Set(before) || policy.mapsCodeLater != mappedLater
  }

  /// Whether it is read as what may be mapped or executed.
  private static func isCode(_ path: String, _ access: PathAccess, _ policy: Policy) -> Bool {
    access == .read && policy.libraries.contains { path.lies(in: $0) }
  }

  private static func isOfCode(_ denial: Observed.Denial) -> Bool { ["mmap", "execve"].contains(denial.call) }

  private func wantsCode(_ denial: Observed.Denial) -> Bool {
    switch denial.call {
    case "mmap": denial.wall != "limits"
    case "execve": bounds.grantsProcesses
    default: false
    }
  }

  /// What has to be granted for what was denied: the file itself, or the folder in which one is made or removed. nil: it
  /// isn't there, and can't be granted.
  private func grant(
    for denial: Observed.Denial, _ path: String, _ machine: PolicyRecorder.Machine
  ) -> (String, PathAccess)? {
    // By the link's own name a plugin has what it leads to.
    if bounds.grantsLists, denial.meansLink, machine.isLink(path),
      let folder = Self.parent(of: path)
    {
      return (folder, PolicyPath.listing(folder))
    }
    let here = machine.kind(path)
    guard denial.writes else {
      return here == .absent ? nil : (path, here == .folder && bounds.grantsLists ? PolicyPath.listing(path) : .read)
    }
    if here != .absent, !SystemCalls.changesFolder(denial.call, flags: nil) { return (path, .write) }
    guard let folder = Self.parent(of: path), machine.kind(folder) == .folder else { return nil }
    return (folder, .write)
  }

  private func fold(
    _ found: inout [String: PathAccess], _ machine: PolicyRecorder.Machine, _ policy: Policy,
    _ recording: inout Recording
  ) {
    guard let count = bounds.filesOfFolder else { return }
    // With those of earlier rounds.
    let all = found.keys + policy.read.filter { !base.read.contains($0) }
    // Who sees a folder sees none of what its links lead to.
    func isHere(_ path: String, _ folder: String) -> Bool {
      machine.real(path) == machine.real(folder) + path.rest(after: folder)
    }
    for (folder, all) in Dictionary(grouping: all, by: { Self.parent(of: $0) ?? "/" }) {
      let paths = all.filter { isHere($0, folder) }
      guard Set(paths).count >= count, refusal.reason(for: folder, .read, machine) == nil else { continue }
      let isAllRead = paths.allSatisfy { (found[$0] ?? .read) == .read }
      guard isAllRead else { continue }
      for path in paths {
        found[path] = nil
        recording.fold(path, into: folder)
      }
      found[folder] = max(found[folder] ?? .none, .read)
    }
  }

  /// Of two files of which the second is only tried where the first isn't there, both were asked for.
  func dropUnused(_ round: [Observed], _ policy: inout Policy, _ recording: Recording) {
    let grants = policy.grants
    // Whether a folder is there, or a link, was asked on the way to what lies in it: it is there for that.
    policy.list.removeAll { folder in
      !base.list.contains(folder) && !foldersOfLinks.contains(folder) && recording.isOnlyAskedForPresence(folder)
        && grants.contains { $0.lies(below: folder) }
    }
    let known = round.compactMap(\.usedGrants)
    guard known.count == round.count else { return }
    let used = Set(known.joined()).union(base.grants)
    policy.read.removeAll { !used.contains($0) }
    policy.write.removeAll { !used.contains($0) }
    policy.list.removeAll { !used.contains($0) }
    policy.libraries.removeAll { !used.contains($0) }
  }

  private static func parent(of path: String) -> String? {
    path.parentFolder.flatMap { $0 == "/" ? nil : $0 }
  }
}
