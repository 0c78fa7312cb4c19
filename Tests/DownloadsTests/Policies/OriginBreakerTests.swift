import AssetModel
import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct OriginBreakerTests {
  static func opened(at now: Duration = .zero, delay: Duration = .seconds(10)) -> OriginBreaker {
    var breaker = OriginBreaker()
    for index in 0..<5 { breaker.failed(job: JobID(Int64(index % 3)), now: now, delay: delay) }
    return breaker
  }

  @Test(arguments: [(4, 4, true), (5, 2, true), (5, 3, false), (100, 2, true), (100, 50, false)])
  func opensAfterManyFailuresOfSeveralJobs(failures: Int, jobs: Int, isOpen: Bool) {
    var breaker = OriginBreaker()
    for index in 0..<failures { breaker.failed(job: JobID(Int64(index % jobs)), now: .zero, delay: .seconds(10)) }
    #expect(breaker.permits(now: .zero) == isOpen && breaker.failures == failures)
  }

  @Test func oneProbeAtATime() {
    var breaker = Self.opened()
    #expect(
      !breaker.permits(now: .seconds(9)) && breaker.permits(now: .seconds(10)) && breaker.nextChange == .seconds(10))
    breaker.began(job: JobID(7), now: .seconds(9))
    #expect(breaker.permits(now: .seconds(10)), "what runs from before is no probe")
    breaker.began(job: JobID(7), now: .seconds(10))
    breaker.began(job: JobID(8), now: .seconds(10))
    #expect(!breaker.permits(now: .seconds(1000)))
    breaker.ended(job: JobID(8))
    #expect(!breaker.permits(now: .seconds(1000)))
    breaker.ended(job: JobID(7))
    #expect(breaker.permits(now: .seconds(1000)), "a probe that was called off makes room for another")
  }

  @Test func aFailedProbeClosesTheRoadAgain() {
    var breaker = Self.opened()
    breaker.began(job: JobID(7), now: .seconds(10))
    breaker.failed(job: JobID(7), now: .seconds(12), delay: .seconds(20))
    #expect(!breaker.permits(now: .seconds(31)) && breaker.permits(now: .seconds(32)))
  }

  @Test func successClosesTheBreaker() {
    var breaker = Self.opened()
    breaker.began(job: JobID(7), now: .seconds(10))
    breaker.succeeded()
    #expect(breaker.permits(now: .zero) && breaker.failures == 0 && breaker.nextChange == nil)
    for index in 0..<4 { breaker.failed(job: JobID(Int64(index)), now: .zero, delay: .seconds(1)) }
    #expect(breaker.permits(now: .zero))
  }

  @Test func stragglersDontShortenTheWait() {
    var breaker = Self.opened(delay: .seconds(3600))
    breaker.failed(job: JobID(9), now: .seconds(5), delay: .seconds(1))
    #expect(breaker.probeAt == .seconds(3600))
  }

  @Test func tellsOnceThatItIsHalfOpen() {
    var breaker = Self.opened()
    let told = [9, 10, 11].map { breaker.becameHalfOpen(now: .seconds($0)) }
    #expect(told == [false, true, false] && breaker.nextChange == nil)
    breaker.failed(job: JobID(1), now: .seconds(11), delay: .seconds(5))
    #expect(breaker.nextChange == .seconds(16))
  }

  /// In any order of events, a half-open breaker lets at most one job through, and none stays open for ever.
  @Test(arguments: 1...100 as ClosedRange<UInt64>) func atMostOneProbe(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (breaker, now, probes) = (OriginBreaker(), Duration.zero, Set<JobID>())
    for step in 0..<300 {
      now += .seconds(Int64.random(in: 0...5, using: &random))
      let job = JobID(Int64(step))
      if breaker.permits(now: now) {
        let isProbe = breaker.probeAt != nil
        breaker.began(job: job, now: now)
        if isProbe { probes.insert(job) } else { probes = [] }
      }
      #expect(probes.count <= 1, "seed \(seed)")
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        breaker.failed(
          job: probes.popFirst() ?? job, now: now, delay: .seconds(Int64.random(in: 1...20, using: &random)))
      case 1 where step % 20 == 0:
        breaker.succeeded()
        probes = []
      case 2: probes.popFirst().map { breaker.ended(job: $0) }
      default: break
      }
    }
    for probe in probes { breaker.ended(job: probe) }
    #expect(breaker.permits(now: now + .seconds(3600)), "seed \(seed)")
  }
}
