import Sandbox
import Testing

@testable import PluginHost

/// A run that waits for exclusive control.
@Suite(.timeLimit(.minutes(1))) struct WatchdogWaitTests {
  @Test("B21: waiting for exclusive control isn't the call's time, and there is an end to it")
  func waitsBesideTheClock() {
    var dog = WatchdogTests.calling()
    dog.waitBegan(at: .seconds(10))
    dog.waitBegan(at: .seconds(20))
    #expect(dog.wallDeadline == .seconds(630))
    #expect(dog.tick(at: .seconds(500), cpu: .zero, memory: 0) == .none)
    dog.waitEnded(at: .seconds(500))
    #expect(dog.waited == .seconds(490))
    #expect(dog.wallDeadline == .seconds(520), "what was left of the call")
    dog.waitBegan(at: .seconds(510))
    dog.waitEnded(at: .seconds(510))
    dog.waitBegan(at: .seconds(510))
    #expect(dog.wallDeadline == .seconds(630), "all waits of a run together")
    #expect(dog.tick(at: .seconds(629), cpu: .zero, memory: 0) == .none)
    #expect(dog.nextTick(after: .seconds(629)).map { $0 <= .seconds(630) } == true)
    #expect(dog.tick(at: .seconds(630), cpu: .zero, memory: 0) == .kill(.wallTimeExceeded(limit: .seconds(30))))
  }

  @Test("a wait that lasts into the next call counts once") func waitsThroughCalls() {
    var dog = WatchdogTests.calling()
    dog.waitBegan(at: .seconds(5))
    dog.callBegan(at: .seconds(100), cpu: .zero)
    #expect(dog.waited == .seconds(95) && dog.wallDeadline == .seconds(635))
    dog.waitEnded(at: .seconds(110))
    #expect(dog.waited == .seconds(105) && dog.wallDeadline == .seconds(140))
    #expect(dog.wall == .seconds(100), "runtime is counted all the same")
    dog.callEnded(at: .seconds(112))
    #expect(dog.wall == .seconds(112))
    dog.waitEnded(at: .seconds(113))
    dog.waitBegan(at: .seconds(113))
    #expect(dog.waited == .seconds(105), "nothing waits between calls")
  }

  @Test("CPU time and memory are limited in a wait as ever") func limitsAWait() {
    var dog = WatchdogTests.calling()
    dog.waitBegan(at: .zero)
    let verdict = Watchdog.Verdict.cpuTimeExceeded(limit: .seconds(10), used: .seconds(10))
    #expect(dog.tick(at: .seconds(100), cpu: .seconds(10), memory: 0) == .kill(verdict))
    dog = WatchdogTests.calling()
    dog.waitBegan(at: .zero)
    let memory = Watchdog.Verdict.memoryExceeded(limit: 1 << 20, used: 2 << 20)
    #expect(dog.tick(at: .seconds(100), cpu: .zero, memory: 2 << 20) == .kill(memory))
  }

  @Test("a wait in which the host stood still isn't counted twice") func standsStillInAWait() {
    var dog = WatchdogTests.calling()
    dog.waitBegan(at: .seconds(5))
    dog.stood(still: .seconds(10), until: .seconds(110))
    dog.waitEnded(at: .seconds(120))
    #expect(dog.waited == .seconds(15))
    #expect(dog.wallDeadline == .seconds(145))
  }
}
