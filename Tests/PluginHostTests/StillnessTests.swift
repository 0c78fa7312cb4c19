import Glibc
import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct StillnessTests {
  private static func stillness(_ child: borrowing ShellChild, waiting: [UInt32] = []) throws -> Stillness {
    try Meters(of: child.pid, status: nil, maps: nil).stillness(waiting: waiting)
  }

  @Test("what is stopped stands, and so does what waits for the host; what was continued meanwhile isn't the same")
  func stands() throws {
    let child = try ShellChild("exec sleep 100")
    child.until("S")
    let waiting = try Self.stillness(child, waiting: [UInt32(child.pid)])
    guard case .stands = waiting else {
      Issue.record("\(waiting)")
      return
    }
    #expect(try Self.stillness(child, waiting: [UInt32(child.pid)]) == waiting)
    kill(child.pid, SIGSTOP)
    child.until("T")
    let stopped = try Self.stillness(child)
    guard case .stands = stopped else {
      Issue.record("\(stopped)")
      return
    }
    #expect(try Self.stillness(child) == stopped)
    kill(child.pid, SIGCONT)
    child.until("S")
    kill(child.pid, SIGSTOP)
    child.until("T")
    #expect(try Self.stillness(child) != stopped)
  }

  @Test("what sleeps or runs doesn't stand, and that it runs is seen") func moves() throws {
    let child = try ShellChild("exec sleep 100")
    child.until("S")
    let sleeping = try Self.stillness(child)
    #expect(try sleeping.mayHaveRun(since: nil) && !Self.stillness(child).mayHaveRun(since: sleeping))
    let busy = try ShellChild("while :; do :; done")
    let before = try Self.stillness(busy)
    while try !Self.stillness(busy).mayHaveRun(since: before) { sched_yield() }
  }

  @Test("what only waits for a processor is seen not to have run, although it doesn't stand") func starves() throws {
    // Both on one processor, and the one has it where the other doesn't want it.
    let onOne = "taskset -cp $(sed -n 's/^Cpus_allowed_list:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/self/status) $$ >&2"
    let high = try ShellChild("\(onOne); while :; do :; done")
    let low = try ShellChild("\(onOne) && chrt -i -p 0 $$ && while :; do :; done")
    var (last, same) = (try Self.stillness(low), 0)
    // For longer than the kernel takes to add what was used.
    while same < 20 {
      usleep(1000)
      let now = try Self.stillness(low)
      let isUnderWay = ThreadProgress.look(at: UInt32(low.pid))?.isUnderWay == true
      same = isUnderWay && !now.mayHaveRun(since: last) ? same + 1 : 0
      last = now
    }
    kill(high.pid, SIGKILL)
    while try !Self.stillness(low).mayHaveRun(since: last) { sched_yield() }
  }

  @Test("a process that is gone is nothing that stands") func gone() throws {
    let child = try ShellChild("exec true")
    child.until("Z")
    let meters = try Meters(of: child.pid, status: nil, maps: nil)
    kill(child.pid, SIGKILL)
    waitpid(child.pid, nil, 0)
    #expect(meters.stillness(waiting: []) == .moves([:]))
  }
}
