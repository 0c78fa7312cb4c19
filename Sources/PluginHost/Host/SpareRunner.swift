internal import HostProtocol
internal import LinuxSystem

/// The runner that stands ready in one fork server for the next run. `SparePlan` decides when there is to be one. Loop thread
/// only.
final class SpareRunner {
  private enum Timer: UInt8 { case consider, waiting }

  private static let longestWait = Duration.seconds(1)

  /// Whether this host ever has one.
  private let isWanted: Bool
  /// Whose it is.
  weak var server: ForkServerClient?
  private let loop: EventLoop
  private let timers: TimerKeys<Timer>
  private let runs: RunTable
  private let cgroups: CgroupSupply
  private let folders: RunFolders
  private var plan = SparePlan()
  private var cgroup: RunCgroup?
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(isWanted: Bool, loop: EventLoop, runs: RunTable, cgroups: CgroupSupply, folders: RunFolders) {
    self.isWanted = isWanted
    self.loop = loop
    timers = loop.newTimers()
    self.runs = runs
    self.cgroups = cgroups
    self.folders = folders
  }

  var isReady: Bool { plan.isReady }

  /// A call or a run is over.
  func becameIdle() {
    guard isWanted, let due = plan.becameIdle(at: BootClock.now) else { return }
    loop.setTimer(timers[.consider], at: due) { [weak self] in self?.consider() }
  }

  private func consider() {
    guard let server, server.isAlive else { return }
    let isDue = plan.isDue(
      at: BootClock.now, isBusy: runs.isAnyBusy, deadline: runs.deadline, isDying: runs.isAnyDying)
    guard isDue else { return becameIdle() }
    if cgroup == nil { cgroup = try? cgroups.take() }
    server.prepare(in: cgroup)
    folders.prepare()
  }

  /// Whether a run may have it: what counts its memory must be what counts the spare's.
  func suits(inCgroup: Bool) -> Bool { plan.isThere && inCgroup == (cgroup != nil) }

  /// The spare's own.
  var itsCgroup: RunCgroup? { cgroup }

  /// A run has it now, and its cgroup with it.
  func taken() {
    loop.setTimer(timers[.consider], at: nil)
    plan = SparePlan()
    cgroup = nil
  }

  func arrived() {
    plan.prepared()
    tell()
  }

  func serverIsGone() {
    if let cgroup { cgroups.giveBack(cgroup) }
    taken()
    tell()
  }

  /// Resumes when there is one, or none can be had.
  func whenReady(_ continuation: CheckedContinuation<Void, Never>) {
    guard isWanted, !plan.isReady else { return continuation.resume() }
    waiting.append(continuation)
    loop.setTimer(timers[.waiting], at: BootClock.now + Self.longestWait) { [weak self] in self?.tell() }
    becameIdle()
  }

  private func tell() {
    loop.setTimer(timers[.waiting], at: nil)
    for continuation in exchange(&waiting, with: []) { continuation.resume() }
  }
}
