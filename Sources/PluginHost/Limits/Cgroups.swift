internal import Basics
internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// Memory cgroups, version 2 or 1, one for each run at a time. They lie in a directory that this host has
/// locked, are used again, and go with the host; what a killed host left, the next one removes.
final class Cgroups {
  enum Version: Sendable { case one, two }

  let version: Version
  private let directory: String
  private let lock: FolderLock
  private var free: [String] = []
  /// One process may have several hosts.
  private static let hosts = Atomic(0)
  /// How many there are; they are used again.
  private(set) var serial = 0

  /// nil when this user can't have one; `reason` says why.
  init?(reason: inout String) {
    reason = "no memory cgroup is mounted"
    for (version, parent) in Self.parents() {
      do throws(Unavailable) {
        (directory, lock) = try Self.make(in: parent, version)
        self.version = version
        return
      } catch {
        reason = error.reason
      }
    }
    return nil
  }

  deinit {
    for path in free { rmdir(path) }
    rmdir(directory)
  }

  private struct Unavailable: Error { var reason: String }

  /// A directory whose children count memory.
  private static func make(in parent: String, _ version: Version) throws(Unavailable) -> (String, FolderLock) {
    guard access(parent, W_OK) == 0 else {
      throw Unavailable(reason: "\(parent) isn't writable by this user (under 'systemd-run --user --scope' one may be)")
    }
    removeLeftovers(in: parent)
    // Where it is on already, or processes of others live beside, this fails; what counts is whether the child has it.
    if version == .two { try? Files.control("\(parent)/cgroup.subtree_control", "+memory") }
    let (directory, lock) = try makeDirectory(in: parent)
    guard version == .two else { return (directory, lock) }
    do {
      try Files.control("\(directory)/cgroup.subtree_control", "+memory")
      return (directory, lock)
    } catch {
      rmdir(directory)
      throw Unavailable(reason: "the memory controller isn't delegated: \(error.description)")
    }
  }

  private static func makeDirectory(in parent: String) throws(Unavailable) -> (String, FolderLock) {
    do throws(SystemCallError) {
      return try FolderLock.make { () throws(SystemCallError) in
        while true {
          let serial = hosts.add(1, ordering: .relaxed).newValue
          let directory = "\(parent)/outrider-\(getpid())-\(ProcessStart.time(of: getpid()) ?? 0)-\(serial)"
          // No other user may open it, and so lock it.
          if mkdir(directory, 0o700) == 0 { return directory }
          // In another pid namespace another host may have the same id.
          guard errno == EEXIST else { throw SystemCallError("mkdir", code: errno, subject: directory) }
        }
      }
    } catch {
      throw Unavailable(reason: error.description)
    }
  }

  /// Where this process is, then every group around it: under version 2 one that holds processes can't have children that
  /// count, and what is delegated to a user often begins further up.
  private static func parents() -> [(Version, String)] {
    let own = (try? Files.text(of: "/proc/self/cgroup")) ?? ""
    var found: [(Version, String)] = []
    for line in own.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let isSecond = parts[1].isEmpty
      guard isSecond || parts[1].split(separator: ",").contains("memory") else { continue }
      for root in isSecond ? ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] : ["/sys/fs/cgroup/memory"] {
        var path = root + (parts[2] == "/" ? "" : String(parts[2]))
        while true {
          if counts(path, isSecond ? .two : .one) { found.append((isSecond ? .two : .one, path)) }
          guard path != root, let folder = path.parentFolder, folder != path else { break }
          path = folder
        }
      }
    }
    return found
  }

  private static func counts(_ path: String, _ version: Version) -> Bool {
    switch version {
    case .one: return Files.exists(path + "/memory.limit_in_bytes")
    case .two:
      let controllers = (try? Files.text(of: path + "/cgroup.controllers")) ?? ""
      return controllers.split(whereSeparator: \.isWhitespace).contains("memory")
    }
  }

  /// Removes the directories of hosts that are gone, whose locks are free, and nothing else.
  private static func removeLeftovers(in parent: String) {
    for name in (try? Files.names(in: parent, atMost: .max, beginning: "outrider-")) ?? [] {
      let parts = name.split(separator: "-")
      guard parts.count == 4, let lock = try? FolderLock("\(parent)/\(name)"), lock.state == .own else { continue }
      for child in (try? Files.names(in: "\(parent)/\(name)")) ?? [] { rmdir("\(parent)/\(name)/\(child)") }
      rmdir("\(parent)/\(name)")
    }
  }

  func take() throws(SystemCallError) -> RunCgroup {
    if let path = free.popLast() { return RunCgroup(path: path, version: version) }
    serial += 1
    let path = "\(directory)/\(serial)"
    guard mkdir(path, 0o755) == 0 else { throw SystemCallError("mkdir", code: errno, subject: path) }
    let cgroup = RunCgroup(path: path, version: version)
    cgroup.keepFromSwap()
    return cgroup
  }

  /// Takes one back, empty and without a limit.
  func giveBack(_ cgroup: RunCgroup) {
    cgroup.lift()
    free.append(cgroup.path)
  }
}

struct RunCgroup {
  let path: String
  let version: Cgroups.Version
  private let killsBefore: Int
  private let refusalsBefore: Int
  /// Version 2 can't set it back.
  private var peakBefore = 0
  private var hitsBefore = 0

  init(path: String, version: Cgroups.Version) {
    self.path = path
    self.version = version
    killsBefore = Self.kills(path, version)
    refusalsBefore = Self.refusals(path, version)
  }

  func procs() throws(SystemCallError) -> OwnedDescriptor { try OwnedDescriptor.open(path + "/cgroup.procs", O_WRONLY) }

  /// Sets the limit; false where more is used already. Version 2 takes any limit, and ends the run for it.
  func limit(_ bytes: Int) throws(SystemCallError) -> Bool {
    let limit = "\(bytes)"
    do throws(SystemCallError) {
      switch version {
      case .one: try Files.control(path + "/memory.limit_in_bytes", limit)
      case .two: try Files.control(path + "/memory.max", limit)
      }
      return true
    } catch {
      // What was charged meanwhile can't be reclaimed.
      guard error.code == EBUSY else { throw error }
      return false
    }
  }

  /// Swap isn't part of the limit: what lies there would be beyond it. Once for all runs of the group, and a machine without
  /// swap may have no such file.
  func keepFromSwap() {
    try? Files.control(path + (version == .one ? "/memory.swappiness" : "/memory.swap.max"), "0")
  }

  func lift() {
    switch version {
    // Page cache that stays charged here is reclaimed under the next limit; emptying it now would cost milliseconds.
    case .one: try? Files.control(path + "/memory.limit_in_bytes", "-1")
    case .two: try? Files.control(path + "/memory.max", "max")
    }
  }

  /// Anonymous, shared and kernel memory; never page cache.
  func usage() -> Int {
    if version == .one {
      let kernel = Self.number(in: path + "/memory.kmem.usage_in_bytes") ?? 0
      return statistics(["rss ", "shmem "]).reduce(kernel, +)
    }
    let names = ["anon ", "shmem ", "kernel ", "kernel_stack ", "pagetables ", "percpu ", "slab "]
    let values = statistics(names)
    // Before Linux 5.18 only its parts are told.
    let kernel = values[2] > 0 ? values[2] : values[3...].reduce(0, +)
    return values[0] + values[1] + kernel
  }

  /// From now on the highest figure is this run's.
  mutating func beginPeak() {
    if version == .one {
      try? Files.control(path + "/memory.max_usage_in_bytes", "0")
    } else {
      peakBefore = Self.number(in: path + "/memory.peak") ?? .max
    }
    hitsBefore = Self.hits(path, version)
  }

  /// The most that was used, as the limit counted it, without the page cache that is left; 0 where that isn't beyond
  /// `floor`. Where page cache had to go, it may have been most of it, and in version 2 the figure may be an earlier run's:
  /// then what is used now.
  func peak(beyond floor: Int) -> Int {
    let name = version == .one ? "/memory.max_usage_in_bytes" : "/memory.peak"
    guard let peak = Self.number(in: path + name) else { return usage() }
    guard peak > floor else { return 0 }
    guard peak > peakBefore, Self.hits(path, version) == hitsBefore else { return usage() }
    // Both count shared memory as files.
    let files = statistics(version == .one ? ["cache ", "shmem "] : ["file ", "shmem "])
    return peak - max(files[0] - files[1], 0)
  }

  /// What memory.stat says under these names, in their order. Some forty lines: a wake waits for this.
  private func statistics(_ names: [String]) -> [Int] {
    let text = (try? Files.text(of: path + "/memory.stat")) ?? ""
    var values = names.map { _ in 0 }
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      for (index, name) in names.enumerated() where line.starts(with: name.utf8) {
        values[index] = Int(Substring(line.dropFirst(name.utf8.count))) ?? 0
      }
    }
    return values
  }

  private static func number(in file: String) -> Int? {
    (try? Files.text(of: file)).flatMap { Int($0.filter(\.isNumber)) }
  }

  /// Which process the kernel killed here for memory since this run began.
  enum Kill: Equatable {
    case noProcess
    /// One who was at this group's limit.
    case atLimit
    /// The machine, or a group around this one, had none left: the kernel then kills any process beneath.
    case around
  }

  var kill: Kill {
    guard Self.kills(path, version) > killsBefore else { return .noProcess }
    return Self.refusals(path, version) > refusalsBefore ? .atLimit : .around
  }

  private static func kills(_ path: String, _ version: Cgroups.Version) -> Int {
    event("oom_kill ", in: path + (version == .one ? "/memory.oom_control" : "/memory.events"))
  }

  /// How often the limit left nothing to be given, or in version 1 to be given at once.
  private static func refusals(_ path: String, _ version: Cgroups.Version) -> Int {
    version == .one ? hits(path, version) : event("oom ", in: path + "/memory.events")
  }

  /// How often more was wanted than the limit.
  var hits: Int { Self.hits(path, version) }

  private static func hits(_ path: String, _ version: Cgroups.Version) -> Int {
    version == .one ? number(in: path + "/memory.failcnt") ?? 0 : event("max ", in: path + "/memory.events")
  }

  private static func event(_ name: String, in file: String) -> Int {
    let text = (try? Files.text(of: file)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
  }
}

/// When a process began, in clock ticks since boot (proc_pid_stat(5), field 22): with the id it names a process for good.
enum ProcessStart {
  static func time(of pid: pid_t) -> UInt64? {
    guard let text = try? Files.text(of: "/proc/\(pid)/stat"), let fields = ProcessStat.fields(of: text) else {
      return nil
    }
    return fields.count > 19 ? UInt64(fields[19]) : nil
  }
}
