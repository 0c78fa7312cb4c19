import Glibc
import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ThreadProgressTests {
  @Test("a thread that sleeps or is gone is beyond the call that was granted, one that is stopped isn't") func states()
    throws
  {
    let child = try ShellChild("exec sleep 100")
    child.until("S")
    let pid = UInt32(child.pid)
    #expect(ThreadProgress.isBeyondClone(pid, used: .zero))
    kill(child.pid, SIGSTOP)
    child.until("T")
    let used = try #require(ThreadProgress.used(by: pid))
    #expect(!ThreadProgress.isBeyondClone(pid, used: used))
    #expect(!ThreadProgress.isBeyondClone(pid, used: nil))
    kill(child.pid, SIGKILL)
    child.until("Z")
    #expect(ThreadProgress.isBeyondClone(pid, used: used))
    #expect(ThreadProgress.isBeyondClone(UInt32(Int32.max), used: used))
  }

  @Test("one that runs is beyond it once it has used more than that takes") func running() throws {
    let child = try ShellChild("while :; do :; done")
    let pid = UInt32(child.pid)
    let used = try #require(ThreadProgress.used(by: pid))
    // Ends by itself only if what it uses counts.
    while !ThreadProgress.isBeyondClone(pid, used: used) { sched_yield() }
    kill(child.pid, SIGSTOP)
    child.until("T")
    let now = try #require(ThreadProgress.used(by: pid))
    #expect(now > used && !ThreadProgress.isBeyondClone(pid, used: now))
  }
}
