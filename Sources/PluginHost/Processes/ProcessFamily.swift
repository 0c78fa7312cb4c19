internal import CLinux
internal import LinuxSystem

/// The processes of a run that may have several, as its memory cgroup lists them. Loop thread only.
final class ProcessFamily {
  private let runner: Int32
  /// The cgroup's file of process ids. In it are none but the run's.
  private let list: String
  private var tally: ProcessTally
  /// How the cgroup counts the time of all that are or were in it; nil where it doesn't.
  private let clock: CgroupClock?
  /// How many there were beside the runner at the last look, and the most of them.
  private(set) var others = 0
  private(set) var peak = 0

  /// `runner`: the first of them.
  init(of runner: Int32, in cgroup: RunCgroup, cores: Int, at now: Duration) {
    self.runner = runner
    list = cgroup.path + "/cgroup.procs"
    tally = ProcessTally(cores: cores, at: now)
    clock = CgroupClock(cgroup, used: Self.look(at: runner)?.cpu ?? .zero)
  }

  /// CPU time that counts for the limits, of all of them and of those that have ended.
  func cpu(at now: Duration) -> Duration {
    look(at: now)
    return clock?.time ?? tally.counted
  }

  /// The same as far as it is certain, at the last look.
  var certainCPU: Duration { clock?.time ?? tally.certain }

  /// Threads of all of them.
  var threads: Int { looks(listed).reduce(0) { $0 + $1.threads } }

  /// Those that have ended, that were seen, and that haven't been waited for.
  var zombies: Int { tally.zombies }

  /// All that the run has.
  var pids: [Int32] { listed }

  /// Counts them between two looks.
  func count() { count(listed) }

  private func count(_ listed: [Int32]) {
    // One that has ended isn't listed, whether its parent has waited for it or not.
    others = listed.count { $0 != runner }
    peak = max(peak, others)
  }

  private func look(at now: Duration) {
    let listed = listed
    count(listed)
    let pids = Array(Set(listed + tally.pids))
    let accounts = Dictionary(looks(pids).map { ($0.pid, $0) }, uniquingKeysWith: { $1 })
    let looks = looks(pids).map { look in
      var look = look
      if let account = accounts[look.pid], account.began == look.began { look.waited = account.waited }
      return look
    }
    tally.take(looks, at: now)
  }

  private var listed: [Int32] {
    let text = (try? Files.text(of: list)) ?? ""
    let found = text.split(separator: "\n").compactMap { Int32($0) }.filter { $0 > 0 }
    return found.isEmpty ? [runner] : found
  }

  private func looks(_ pids: [Int32]) -> [ProcessLook] { pids.compactMap(Self.look) }

  /// nil: it isn't there any more.
  private static func look(at pid: Int32) -> ProcessLook? {
    guard let text = try? Files.text(of: "/proc/\(pid)/stat", limit: 1024) else { return nil }
    var nanoseconds: UInt64 = 0
    // Of what is in the middle of its end the kernel has the sum in ticks alone.
    let cpu: Duration? = ol_process_cpu(pid, &nanoseconds) == 0 ? .nanoseconds(Int64(nanoseconds)) : nil
    return ProcessLook(stat: text, pid: pid, cpu: cpu)
  }
}

extension ProcessLook {
  /// `stat`: as proc_pid_stat(5) has it. `cpu`: nil where nothing tells it to more than a hundredth of a second.
  init?(stat: String, pid: Int32, cpu: Duration?) {
    // The state is field 3; utime, stime, cutime and cstime are 14 to 17, num_threads 20 and starttime 22.
    guard let fields = ProcessStat.fields(of: stat), fields.count > 19, let user = Int64(fields[11]),
      let system = Int64(fields[12]),
      let ofUser = Int64(fields[13]),
      let ofSystem = Int64(fields[14]), let threads = Int(fields[17]), let began = UInt64(fields[19])
    else { return nil }
    // The kernel tells hundredths of a second, whatever its own clock does (time(7), "The software clock").
    func time(_ ticks: Int64) -> Duration { .milliseconds(max(ticks, 0) * 10) }
    self.init(
      pid: pid, began: began, cpu: cpu ?? time(user + system), waited: time(ofUser + ofSystem), threads: threads,
      // Others go on where only the first thread has ended.
      isZombie: ["Z", "X"].contains(fields[0]) && threads <= 1)
  }
}

/// What a cgroup of version 2 says of the CPU time of all that are or were in it, with whatever controllers (cgroups(7), `cpu.stat`).
struct CgroupClock {
  private let file: String
  private let before: Duration

  /// `used`: what it is to tell now. nil where it has none.
  init?(_ cgroup: RunCgroup, used: Duration) {
    guard cgroup.version == .two else { return nil }
    file = cgroup.path + "/cpu.stat"
    guard let now = Self.time(in: (try? Files.text(of: file)) ?? "") else { return nil }
    before = now - used
  }

  var time: Duration? { Self.time(in: (try? Files.text(of: file)) ?? "").map { $0 - before } }

  static func time(in text: String) -> Duration? {
    let line = text.split(separator: "\n").first { $0.hasPrefix("usage_usec ") }
    return line.flatMap { Int64($0.dropFirst("usage_usec ".count)) }.map { .microseconds($0) }
  }
}
