internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// Measures what one run uses, and keeps what its report says of that. Loop thread only.
final class RunMeter {
  /// nil where nothing but samples counts the memory.
  private(set) var cgroup: RunCgroup?
  private let memoryLimit: Int
  /// When the plugin was asked for.
  private let requested: Duration
  private var meters: Meters?
  /// nil where the runner is the only process.
  private(set) var family: ProcessFamily?
  private let mayStartProcesses: Bool
  /// Whether the walls are closed: before that, nothing that is used is the plugin's.
  private var hasBegun = false
  /// Bytes in the cgroup that aren't the plugin's.
  private var cgroupBaseline: Int?
  /// What the process had used before it was this run's.
  private var cpuBefore = Duration.zero
  /// Since when nothing of the runner's memory can be seen.
  private var hiddenSince: Duration?
  /// From the moment when the limit of the cgroup holds.
  var pages: RunPages?
  /// Where no cgroup counts shared memory, when the run is stopped and looked at.
  var sharedLook = SharedMemoryLook()
  /// Bytes of the memory that host and runner share for calls, and what of them the plugin has filled without being asked.
  var callMemory = (all: 0, plugins: 0)
  /// Of a file that isn't the plugin's shared memory.
  var callInode: UInt64?
  private var usage = RunReport.Usage()
  private var killed: Duration?
  /// The deadline that ended the run.
  var deadline: Duration?

  init(cgroup: RunCgroup?, memoryLimit: Int, mayStartProcesses: Bool, requested: Duration) {
    self.cgroup = cgroup
    self.memoryLimit = memoryLimit
    self.mayStartProcesses = mayStartProcesses
    self.requested = requested
  }

  /// Whether the kernel counts the memory, and keeps the plugin within it.
  var isCounted: Bool { cgroup != nil }

  // MARK: The beginning

  /// There is a runner. `cpu`: what its process has used so far.
  func spawned(cpu: Duration) { cpuBefore = cpu }

  /// With the files that the runner sent of its process, where it could open them.
  func open(_ channels: inout RunChannels) throws(SystemCallError) {
    guard meters == nil else { return }
    let status = channels.takeStatus()
    let maps = channels.takeMaps()
    guard channels.pid > 0 else { throw SystemCallError("pidfd", code: ESRCH, subject: "runner") }
    meters = try Meters(of: channels.pid, status: status, maps: maps)
    guard mayStartProcesses, let cgroup else { return }
    family = ProcessFamily(of: channels.pid, in: cgroup, cores: Run.cores, at: BootClock.now)
  }

  /// Where the plugin's memory begins. Without the process's meters it is measured later.
  func takeBaseline() {
    guard meters != nil, cgroupBaseline == nil else { return }
    meters?.takeBaseline()
    cgroupBaseline = cgroup?.usage() ?? 0
  }

  /// The walls are closed. False where the limit is less than what is used already.
  func begin() throws(SystemCallError) -> Bool {
    hasBegun = true
    guard cgroup != nil else { return true }
    guard try cgroup?.limit((cgroupBaseline ?? 0) + memoryLimit) == true else { return false }
    cgroup?.beginPeak()
    return true
  }

  // MARK: The process

  /// nil before the walls are closed, and after the end.
  var process: pid_t? { hasBegun ? meters?.pid : nil }

  /// CPU time of this run, in all of its processes.
  var cpu: Duration {
    guard hasBegun else { return .zero }
    let used = family.map { $0.cpu(at: BootClock.now) } ?? meters?.cpu()
    return used.map { $0 - cpuBefore } ?? .zero
  }

  /// With a cgroup the kernel decides, and the sample is for the report alone. `shared`: bytes that were granted and aren't known
  /// to be free.
  func memory(shared: Int) -> Int? {
    guard hasBegun else { return nil }
    let used = meters?.memoryBeyondBaseline(shared: shared, calls: callMemory)
    return cgroup == nil ? used : used.map { min($0, memoryLimit) }
  }

  /// Whether the figures have been out of sight for so long that the process isn't just ending, which looks the same for a moment.
  func staysHidden(at now: Duration, isEnding: () -> Bool) -> Bool {
    guard hasBegun, meters?.isHidden ?? false else {
      hiddenSince = nil
      return false
    }
    let since = hiddenSince ?? now
    hiddenSince = since
    return now - since >= .milliseconds(10) && !isEnding()
  }

  /// Threads that the run has now, in all of its processes; nil where that can't be told.
  var threads: Int? { hasBegun ? family.map(\.threads) ?? meters?.threads() : nil }

  /// The run's processes; empty where they can't be told.
  var processes: [pid_t] { family?.pids ?? process.map { [$0] } ?? [] }

  /// nil where that can't be told.
  var isAnyThreadEnding: Bool? { hasBegun ? meters?.isAnyThreadEnding() : nil }

  /// Whether the process is on its way out.
  var isExiting: Bool { hasBegun ? meters?.isExiting() ?? true : true }

  var sharedMappings: Set<UInt64>? {
    guard hasBegun, var found = meters?.sharedMappings() else { return nil }
    if let callInode { found.remove(callInode) }
    return found
  }

  /// As `Meters.stillness`.
  func stillness(waiting: [UInt32]) -> Stillness {
    hasBegun ? meters?.stillness(waiting: waiting) ?? .moves([:]) : .moves([:])
  }

  func stopThreads(but waiting: [UInt32]) { if hasBegun { meters?.stopThreads(but: waiting) } }

  /// Asks threads where they are; how many can tell.
  func askThreads(limit: Int) -> Int { hasBegun ? meters?.askThreads(limit: limit) ?? 0 : 0 }

  var majorFaults: Int? { hasBegun ? meters?.majorFaults() : nil }

  func duplicateMaps() -> OwnedDescriptor? {
    switch meters {
    case .some(let meters) where hasBegun: meters.duplicateMaps()
    default: nil
    }
  }

  // MARK: The report

  /// The plugin is loaded.
  func loaded(at now: Duration) { usage.wakeSeconds = (now - requested).inSeconds }

  /// From the request to the plugin being loaded.
  var wake: Duration { .seconds(usage.wakeSeconds) }

  func killed(at now: Duration) { killed = killed ?? now }

  /// Whom the kernel killed here for memory; nil: there is no cgroup. At its limit, the report says that the run had all of it.
  func noteKillForMemory() -> RunCgroup.Kill? {
    let kill = cgroup?.kill
    if kill == .atLimit { usage.peakMemoryBytes = memoryLimit }
    return kill
  }

  /// What the run used. `exit`: nil where the server didn't tell. `spun`: how long the host spun for its answers.
  func usage(at now: Duration, _ watchdog: Watchdog, _ exit: ServerEvent.Exit?, spun: Duration) -> RunReport.Usage {
    usage.spinSeconds = spun.inSeconds
    usage.wallSeconds = watchdog.wall.inSeconds
    usage.stoodSeconds = watchdog.stood.inSeconds
    usage.peakMemoryBytes = max(usage.peakMemoryBytes, watchdog.peakMemory, peakInCgroup(beyond: watchdog.peakMemory))
    // The kernel's two clocks differ by less than a tick, and neither runs backwards for a reader of one.
    if let exit { usage.cpuSeconds = max(Double(exit.cpuNanoseconds) / 1e9 - cpuBefore.inSeconds, 0) }
    // The server is told of those alone that were waited for.
    if let family {
      usage.cpuSeconds = max(usage.cpuSeconds, (family.certainCPU - cpuBefore).inSeconds)
      usage.peakProcesses = family.peak
    }
    if let killed { usage.goneSeconds = (now - killed).inSeconds }
    if let deadline { usage.overrunSeconds = (now - deadline).inSeconds }
    return usage
  }

  /// What the samples missed: what came and went between two of them, and what no process shows. What the kernel charges in
  /// advance, 64 pages for each core, is no reason to look closer.
  private func peakInCgroup(beyond sampled: Int) -> Int {
    guard let cgroup, let cgroupBaseline, hasBegun else { return 0 }
    let peak = cgroup.peak(beyond: cgroupBaseline + sampled + 512 << 10)
    return min(max(peak - cgroupBaseline, 0), memoryLimit)
  }

  /// How each meter measured, by its name.
  var descriptions: [String: String] {
    [
      "wall": "CLOCK_BOOTTIME, from the call to its return",
      "cpu": family == nil
        ? "the process's CPU clock, all threads"
        : "the CPU clocks of its processes, every millisecond of a call; one that ended in between counts as if it had run until then",
      "memory": cgroup.map { "memory cgroup v\($0.version == .one ? 1 : 2), and RssAnon + RssShmem + VmSwap + VmPTE" }
        ?? "RssAnon + shared memory granted and not freed + VmSwap + VmPTE, every millisecond of a call",
    ]
  }

  /// Nothing is measured any more.
  func end() {
    hasBegun = false
    meters = nil
    family = nil
  }
}
