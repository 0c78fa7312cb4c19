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
      let fired = Mutex<[TimerKey]>([])
      let done = DispatchSemaphore(value: 0)
      loop.submit {
        let due = BootClock.now
        let timers = (0..<64).map { _ in loop.newTimer() }
        let last = loop.newTimer()
        for timer in timers {
          loop.setTimer(timer, at: due) {
            fired.withLock { $0.append(timer) }
            for other in timers where other != timer {
              loop.setTimer(other, at: isMoved ? due + .seconds(3600) : nil) {}
            }
            loop.setTimer(last, at: BootClock.now + .milliseconds(20)) { done.signal() }
          }
        }
      }
      #expect(done.wait(timeout: .now() + 20) == .success)
      #expect(fired.withLock { $0.count } == 1)
      loop.shutDown()
    }
  }

  @Test("a timer fires, however often others that fire move it to the present")
  func nobodyKeepsATimerFromFiring() throws {
    let loop = try EventLoop("test.loop")
    let turns = Mutex(0)
    let before = Mutex(Int.max)
    let done = DispatchSemaphore(value: 0)
    loop.submit {
      let (busy, deadline) = ((0..<20).map { _ in loop.newTimer() }, loop.newTimer())
      func keepBusy(_ timer: TimerKey) {
        loop.setTimer(deadline, at: BootClock.now) {
          before.withLock { $0 = min($0, turns.withLock { $0 }) }
          done.signal()
        }
        let isLate = turns.withLock { turns in
          turns += 1
          return turns > 10_000
        }
        if isLate { done.signal() } else { loop.setTimer(timer, at: BootClock.now) { keepBusy(timer) } }
      }
      for timer in busy { loop.setTimer(timer, at: BootClock.now) { keepBusy(timer) } }
    }
    done.wait()
    loop.shutDown()
    #expect(before.withLock { $0 } <= 2 * 20)
  }

  /// Descriptors of this process's, by what they lead to (proc(5)).
  private static func descriptors() -> [Int32: String] {
    let numbers = ((try? Files.names(in: "/proc/self/fd")) ?? []).compactMap { Int32($0) }
    return numbers.reduce(into: [:]) { $0[$1] = Files.link("/proc/self/fd/\($1)") }
  }

  @Test("a program that has closed a loop's descriptors finds out, and what it submits is done") func closed() async {
    await #expect(processExitsWith: .success) {
      let before = Set(Self.descriptors().keys)
      let loop = try EventLoop("test.loop")
      let isReady = DispatchSemaphore(value: 0)
      let failures = Mutex<[Int32]>([])
      loop.submit {
        loop.onFailure { error in failures.withLock { $0.append(error.code) } }
        isReady.signal()
      }
      isReady.wait()
      for (number, link) in Self.descriptors() where !before.contains(number) && link.hasPrefix("anon_inode:") {
        close(number)
      }
      let done = DispatchSemaphore(value: 0)
      loop.submit { done.signal() }
      #expect(done.wait(timeout: .now() + 20) == .success)
      #expect(failures.withLock { $0 } == [EBADF])
      loop.submit { done.signal() }
      #expect(done.wait(timeout: .now() + 20) == .success)
    }
  }

  private enum Purpose: UInt8, CaseIterable { case first, second, last }

  /// Neither another purpose nor another owner has the same timer.
  @Test func everyTimerHasAKeyOfItsOwn() throws {
    let loop = try EventLoop("test.loop")
    defer { loop.shutDown() }
    let keys = (0..<100).flatMap { _ in
      let timers = loop.newTimers(Purpose.self)
      return Purpose.allCases.map { timers[$0] } + [loop.newTimer()]
    }
    #expect(Set(keys).count == 400)
  }
}
