import Basics
import CLinux
import Glibc
import HostProtocol
import LinuxSystem
import Sandbox
import Testing

@testable import PluginHost

/// Nothing of a plan is read from the machine: what it says follows from what it is given.
@Suite(.timeLimit(.minutes(1))) struct SpawnPlanTests {
  private static let image = Result { () throws(HostError) in
    try PluginImage(opening: "libc.so.6", searching: true)
  }
  private static let names = ["user", "mount", "pid", "network", "ipc", "uts"]

  private static func machine(landlock: Int = 7, without missing: [String] = []) -> Machine {
    Machine(
      landlockABI: landlock, hasListener: true,
      hello: .init(
        missing: missing.map { .init(step: $0, code: EPERM) }, runtime: ["/made/up", "/made/up/inside", "/made/file"],
        hasPreloaded: false))
  }

  private static func grant(_ index: Int, _ identity: FileIdentity) -> Grant {
    let path = "/g/\(index)"
    return Grant(
      path: path, line: path, real: path, place: path, identity: identity, isWritable: index.isMultiple(of: 2))
  }

  private func plan(
    _ machine: Machine = machine(), grants: Int = 0, options: SpawnPlan.Options = .init(),
    surroundings: SpawnPlan.Surroundings = .init(), policy: Policy = Policy(), containers: Int = 1
  ) throws -> SpawnPlan {
    let image = try Self.image.get()
    let identity = try Files.identity(of: "/")
    let folders = (0..<containers).map { PluginImage.File(path: "/c/\($0)", identity: identity) }
    return try SpawnPlan(
      image: image, policy: policy,
      containers: GroupContainers(
        folders.enumerated().map { ("g\($0.offset)", $0.element.path, nil) }, hidesFiles: machine.hidesFiles),
      folders: folders, manifest: nil, grants: (0..<grants).map { Self.grant($0, identity) }, machine: machine,
      options: options, surroundings: surroundings)
  }

  @Test("no limit is beyond what this user may have himself", arguments: 0..<10 as Range<UInt64>)
  func limits(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let free = try plan().limits()
    let hard = Dictionary(
      uniqueKeysWithValues: free.map { ($0.resource, UInt64(random.below(1 << 20))) }.filter { _ in random.chance(2) })
    let bound = try plan(surroundings: .init(hardLimits: hard)).limits()
    for (before, after) in zip(free, bound) {
      #expect(before.resource == after.resource && after.soft == after.hard)
      #expect(after.hard == min(before.hard, hard[before.resource] ?? .max))
    }
    #expect(try plan(options: .init(open: [.rlimits])).limits().isEmpty)
  }

  @Test(
    "a run's processor time ends before the kernel's limit for this user, whose signal says no reason",
    arguments: [(0, 900, 900), (1, 900, 900), (3, 2900, 2900), (6, 5000, 5900), (.max, 5000, 600_000)]
      as [(UInt64, Int, Int)])
  func lowersProcessorTime(hard: UInt64, call: Int, total: Int) {
    var policy = Policy()
    (policy.limits.cpu, policy.limits.cpuTotal) = (.seconds(5), .seconds(600))
    let lowered = SpawnPlanner.lowered(policy) { $0 == Int32(RLIMIT_CPU.rawValue) ? hard : .max }
    #expect(lowered.limits.cpu == .milliseconds(call) && lowered.limits.cpuTotal == .milliseconds(total))
    #expect(lowered.limits.fileSize == policy.limits.fileSize)
  }

  @Test(
    "several processes need what keeps them together",
    arguments: [(0, [""]), (1, ["pid", "cgroup"]), (64, ["pid", "cgroup"])])
  func processes(count: Int, missing: [String]) throws {
    var policy = Policy()
    policy.processes = count
    for one in missing {
      let machine = Self.machine(without: one == "pid" ? ["pid"] : [])
      let options = SpawnPlan.Options(hasMemoryCgroup: one != "cgroup")
      if count == 0 {
        let plan = try plan(machine, options: options, policy: policy)
        #expect(!plan.mayStartProcesses && !plan.programOptions.makesProcesses && !plan.programOptions.startsPrograms)
        continue
      }
      let error = #expect(throws: HostError.self) { try plan(machine, options: options, policy: policy) }
      guard case .ended(let report)? = error else { throw Unexpected() }
      #expect(report.outcome.kind == .wallUnavailable && report.outcome.detail.contains(one))
      // The host doesn't look after the processes of a run without walls.
      #expect(try !plan(machine, options: .init(isBare: true), policy: policy).mayStartProcesses)
    }
    let whole = try plan(options: .init(hasMemoryCgroup: true), policy: policy)
    #expect(whole.mayStartProcesses == (count > 0) && !whole.programOptions.startsPrograms)
    policy.libraries = ["/bin/sh"]
    #expect(
      try plan(options: .init(hasMemoryCgroup: true), policy: policy).programOptions.startsPrograms == (count > 0))
  }

  private struct Unexpected: Error {}

  @Test("the zone is the host's, its environment isn't, unless that wall is left open") func environment() throws {
    var surroundings = SpawnPlan.Surroundings()
    surroundings.zone = ["TZ=Made/Up"]
    surroundings.environment = ["SECRET=1"]
    let closed = try plan(surroundings: surroundings).environment
    #expect(closed.contains("TZ=Made/Up") && !closed.contains("SECRET=1"))
    #expect(try !plan().environment.contains { $0.hasPrefix("TZ=") })
    #expect(try plan(options: .init(open: [.environment]), surroundings: surroundings).environment == ["SECRET=1"])
  }

  @Test("a rule of Landlock for a file has no rights of folders, and none stands below another") func landlock() throws
  {
    let rules = try #require(plan(surroundings: .init(runtimeFiles: ["/made/file"])).landlock()).rules
    let rights = LandlockRights(abi: 7)
    #expect(rules.first { $0.path == "/made/file" }?.rights == rights.forFile(rights.readable))
    #expect(rules.first { $0.path == "/made/up" }?.rights == rights.readable)
    #expect(!rules.contains { $0.path == "/made/up/inside" })
    #expect(try plan(Self.machine(landlock: 0)).landlock() == nil)
    #expect(try plan(options: .init(open: [.landlock])).landlock() == nil)
  }

  @Test("without a mount namespace a library's folder isn't shown, and the library is") func ownFolder() throws {
    let plan = try plan(Self.machine(without: ["mount"]))
    let library = plan.image.library.path
    let rights = LandlockRights(abi: 7)
    let rules = try #require(plan.landlock()).rules
    #expect(rules.contains { $0.path == library && $0.rights == rights.forFile(rights.readable) })
    #expect(!rules.contains { $0.path == PluginImage.directory(of: library) })
    #expect(plan.bundlePaths.first == library)
  }

  @Test("files are kept from being emptied by the filter where Landlock and mounts don't", arguments: [1, 2, 3, 7])
  func truncation(landlock: Int) throws {
    #expect(try plan(Self.machine(landlock: landlock, without: ["mount"])).refusesTruncation == (landlock < 3))
    #expect(try !plan(Self.machine(landlock: landlock)).refusesTruncation)
  }

  /// Every combination of walls that a machine may lack.
  @Test func nothingRunsWhereNothingHidesOrGuardsFiles() throws {
    for set in 0..<1 << Self.names.count {
      let missing = Self.names.indices.filter { set & 1 << $0 != 0 }.map { Self.names[$0] }
      for (landlock, isRoot, isBare) in [
        (0, true, false), (0, false, false), (7, true, false), (7, false, false), (0, true, true),
      ] {
        let isExposed = !isBare && landlock == 0 && missing.contains("mount")
        do {
          _ = try plan(
            Self.machine(landlock: landlock, without: missing), options: .init(isBare: isBare),
            surroundings: .init(isRoot: isRoot))
          #expect(!isExposed, "\(missing)")
        } catch let error as HostError {
          #expect(isExposed && error.report?.outcome.kind == .wallUnavailable, "\(missing): \(error)")
        }
      }
    }
  }

  @Test("what is handed over fits one request, whatever else goes with it", arguments: [1, 5, 32])
  func count(containers: Int) throws {
    let handsOver = SpawnPlan.Options(handsOverMounts: true)
    var last = 0
    while last < 1000, (try? plan(grants: last + 1, options: handsOver, containers: containers)) != nil { last += 1 }
    let parts = try plan(grants: last, options: handsOver, containers: containers).parts
    #expect(last > 0 && parts.compactMap(\.file).count + 4 <= Int(OL_MOST_DESCRIPTORS))
    #expect((try? plan(grants: 1000, containers: containers)) != nil, "the fork server clones these itself")
  }

  @Test("a container in memory that no cgroup counts is bounded, and a named one is attached") func containers() throws
  {
    for (isInMemory, hasCgroup, hidesFiles) in [
      (true, false, true), (true, true, true), (false, false, true), (true, false, false),
    ] {
      let plan = try plan(
        Self.machine(without: hidesFiles ? [] : ["mount"]),
        options: .init(hasMemoryCgroup: hasCgroup, isContainerInMemory: isInMemory))
      let isBounded = isInMemory && !hasCgroup && hidesFiles
      #expect(plan.boundsContainer == isBounded)
      let part = try #require(plan.parts.first { $0.target == plan.view.container && $0.mustMap != isBounded })
      #expect((part.file == nil) == isBounded && (part.memory > 0) == isBounded)
    }
  }
}
