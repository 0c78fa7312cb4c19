import AssetModel
import Basics
import LinuxSystem
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct OriginStateTests {
  @Test func aShorterWaitNeverReplacesALongerOne() {
    var state = OriginState()
    let news = [
      state.setRetryAfter(until: .seconds(100), value: "100"), state.setRetryAfter(until: .seconds(50), value: "50"),
    ]
    #expect(news == [true, false])
    #expect(state.retryAfter == .seconds(100) && state.retryAfterValue == "100")
    #expect(state.isBlocked(now: .seconds(99)) && !state.isBlocked(now: .seconds(100)))
  }

  /// What a server sent is shown to people.
  @Test func itsWordsAreMadePrintableAndBounded() {
    var state = OriginState()
    _ = state.setRetryAfter(until: .seconds(1), value: "\u{1b}[2J" + String(repeating: "9", count: 1000))
    let shown = state.retryAfterValue ?? ""
    #expect(shown.utf8.count < 100 && !shown.unicodeScalars.contains { $0.value < 32 })
  }

  @Test func onlyWhatIsNewIsWrittenDown() {
    var state = OriginState()
    let news = [
      state.hasNoRanges(now: .zero), state.hasNoRanges(now: .seconds(5)), state.honours(.ifMatch, now: .zero),
      state.honours(.ifMatch, now: .seconds(5)), state.honours(.comparedAfterwards, now: .seconds(6)),
    ]
    #expect(news == [true, false, true, false, true])
  }

  @Test func http2IsAvoidedForADayOrFromTheSecondEnhanceYourCalmOn() {
    var state = OriginState()
    state.reduceConcurrency(now: .zero)
    #expect(!state.avoidsHTTP2 && state.hasReducedConcurrency)
    state.reduceConcurrency(now: .seconds(10))
    #expect(state.avoidsHTTP2)
    let expiry = state.expire(.seconds(10) + OriginState.reductionTime)
    #expect(expiry.opens && expiry.endsReduction && !state.hasReducedConcurrency && state.avoidsHTTP2)
    var broken = OriginState()
    broken.distrustHTTP2(now: .zero)
    _ = broken.expire(OriginState.memory - .nanoseconds(1))
    #expect(broken.avoidsHTTP2)
    _ = broken.expire(OriginState.memory)
    #expect(!broken.avoidsHTTP2)
  }

  /// Whatever happens: what is over at a moment is forgotten at that moment, `nextOpening` is never in the past after that,
  /// and the journal's record brings back what is left of it.
  @Test(arguments: 0..<64) func randomAnswers(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (state, now) = (OriginState(), Duration.zero)
    for _ in 0..<300 {
      now += .seconds(Int64.random(in: 0...4000, using: &random))
      let expiry = state.expire(now)
      #expect(state.nextOpening.map { $0 > now } ?? true, "seed \(seed)")
      #expect(!expiry.endsReduction || expiry.opens)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: _ = state.setRetryAfter(until: now + .seconds(Int64.random(in: 1...9000, using: &random)), value: "x")
      case 1: _ = state.hasNoRanges(now: now)
      case 2: _ = state.honours(Bool.random(using: &random) ? .ifMatch : .comparedAfterwards, now: now)
      case 3: state.reduceConcurrency(now: now)
      case 4: state.distrustHTTP2(now: now)
      case 5: state.breaker.failed(job: JobID(.random(in: 0...5, using: &random)), now: now, delay: .seconds(60))
      case 6: state.breaker.succeeded()
      default: break
      }
      let moment = StoredMoment(bootIdentifier: "b", boot: now.inNanoseconds, wall: 0)
      var restored = OriginState()
      restored.restore(state.record(of: "https://a.test", now: now, moment: moment), now: now, moment: moment)
      #expect(restored.retryAfter == state.retryAfter && restored.isRangeless == state.isRangeless, "seed \(seed)")
      #expect(restored.rangeCondition == state.rangeCondition, "seed \(seed)")
      if state.isBlank { #expect(state.nextOpening == nil && !state.isRangeless && !state.avoidsHTTP2, "seed \(seed)") }
    }
  }
}
