import Dispatch
import Glibc
import Synchronization
import Testing

@testable import LinuxSystem

@Suite(.timeLimit(.minutes(1))) struct EventLoopTests {
  /// Several timers are due at once; the first of them to fire removes or moves the others.
  @Test func whatAnotherTimerTookAwayDoesntFire() throws {
    for isMoved in [false, true] {
      let loop = try EventLoop("test.loop")
      let fired = Mutex<[UInt64]>([])
      let done = DispatchSemaphore(value: 0)
      loop.submit {
        let due = BootClock.now
        for owner in 0..<64 as Range<UInt64> {
          loop.setTimer(owner, at: due) {
            fired.withLock { $0.append(owner) }
            for other in 0..<64 as Range<UInt64> where other != owner {
              loop.setTimer(other, at: isMoved ? due + .seconds(3600) : nil) {}
            }
            loop.setTimer(100, at: BootClock.now + .milliseconds(20)) { done.signal() }
          }
        }
      }
      #expect(done.wait(timeout: .now() + 20) == .success)
      #expect(fired.withLock { $0.count } == 1)
      loop.shutDown()
    }
  }
}
