import Basics
import TestSupport
import Testing

@testable import ServiceClient

@Suite(.timeLimit(.minutes(1))) struct ReadingTurnsTests {
  @Test("A caller reads where no other does, and wakes the thread only from the socket")
  func callers() {
    var turns = ReadingTurns()
    // The thread hasn't looked yet.
    let call1 = turns.beginCall(isHandedOver: false)
    #expect(call1 == (false, false))
    let step9 = turns.next(at: 0, isHandedOver: false)
    #expect(step9 == .watch)
    let call2 = turns.beginCall(isHandedOver: false)
    #expect(call2 == (true, true))
    let answer1 = turns.beginReading()
    #expect(!answer1)
    let step10 = turns.next(at: 0, isHandedOver: false)
    #expect(step10 == .pauseReading(ReadingTurns.pause))
    // A second caller has its answer read by the first, or by the thread.
    let call3 = turns.beginCall(isHandedOver: false)
    #expect(call3 == (false, false))
    let answer2 = turns.endCall(at: 10, isWaitedFor: false)
    #expect(!answer2)
    let step11 = turns.next(at: 11, isHandedOver: false)
    #expect(step11 == .pauseReading(1))
    let call4 = turns.beginCall(isHandedOver: false)
    #expect(call4 == (true, false))
    let answer3 = turns.endCall(at: 20, isWaitedFor: false)
    #expect(!answer3)
    let step12 = turns.next(at: 22, isHandedOver: false)
    #expect(step12 == .watch)
  }

  @Test("A caller that waits without reading is served at once")
  func waiters() {
    var turns = ReadingTurns()
    _ = turns.next(at: 0, isHandedOver: false)
    _ = turns.beginCall(isHandedOver: false)
    _ = turns.next(at: 0, isHandedOver: false)
    // While a caller reads, it is the caller's turn to say so at its end.
    let answer4 = turns.expect()
    #expect(!answer4)
    let answer5 = turns.endCall(at: 1, isWaitedFor: true)
    #expect(answer5)
    let step13 = turns.next(at: 1, isHandedOver: false)
    #expect(step13 == .watch)
    _ = turns.beginCall(isHandedOver: false)
    _ = turns.next(at: 2, isHandedOver: false)
    let answer6 = turns.endCall(at: 2, isWaitedFor: false)
    #expect(!answer6)
    let answer7 = turns.expect()
    #expect(answer7)
    let step14 = turns.next(at: 2, isHandedOver: false)
    #expect(step14 == .watch)
  }

  @Test("What a caller leaves comes before anything that is read after it")
  func handedOver() {
    var turns = ReadingTurns()
    _ = turns.next(at: 0, isHandedOver: false)
    _ = turns.beginCall(isHandedOver: false)
    let answer8 = turns.endCall(at: 0, isWaitedFor: true)
    #expect(answer8)
    let call5 = turns.beginCall(isHandedOver: true)
    #expect(call5 == (false, false))
    let step15 = turns.next(at: 0, isHandedOver: true)
    #expect(step15 == .takeOver)
    let call6 = turns.beginCall(isHandedOver: false)
    #expect(call6 == (false, false))
    let step16 = turns.next(at: 0, isHandedOver: false)
    #expect(step16 == .watch)
  }

  /// The thread sleeps until it is woken, its time is up, or the socket is ready while it watches.
  @Test("Two never read at once, and no caller that waits is forgotten", arguments: 1...20 as ClosedRange<UInt64>)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var turns = ReadingTurns()
    var now: Int64 = 0
    /// Nil: it does something now.
    var sleep: ReadingTurns.Step?
    var (waiting, left, isCallerIn) = (0, 0, false)
    for _ in 0..<5000 {
      now += Int64(random.below(2))
      var wakes = false
      switch random.below(4) {
      case 0:
        let call = turns.beginCall(isHandedOver: left > 0)
        #expect(!(call.mayRead && (isCallerIn || turns.thread == .busy || left > 0)))
        if call.mayRead { isCallerIn = true } else { (waiting, wakes) = (waiting + 1, turns.expect()) }
        wakes = wakes || call.wakesThread
      case 1 where isCallerIn:
        isCallerIn = false
        if random.chance(3) { left += 1 }
        wakes = turns.endCall(at: now, isWaitedFor: left > 0 || waiting > 0)
      case 2: (waiting, wakes) = (waiting + 1, turns.expect())
      default: break
      }
      switch sleep {
      case .watch where wakes || random.chance(3):
        if turns.beginReading() {
          #expect(!isCallerIn)
          waiting = 0
        }
        sleep = nil
      case .pauseReading(let limit) where wakes || random.below(Int(limit) + 1) == 0: sleep = nil
      case .takeOver:
        left = 0
        sleep = nil
      default: break
      }
      if sleep == nil { sleep = turns.next(at: now, isHandedOver: left > 0) }
      // A caller looks at the socket, or says what is there.
      if waiting > 0 || left > 0 {
        #expect(isCallerIn || sleep == .watch || sleep == .takeOver, "seed \(seed)")
      }
    }
  }
}
