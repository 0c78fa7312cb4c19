import TestSupport
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct ExclusiveControlTests {
  static func claim(_ holder: Int64, _ token: UInt64 = 1) -> ExclusiveControl.Claim {
    .init(holder: holder < 0 ? .run(-holder) : .connection(holder), token: token)
  }

  @Test(
    "Control is given to one at a time, in the order of asking, and given on as soon as it is released [B65, B66, F-60]"
  )
  func fifo() {
    var control = ExclusiveControl()
    #expect(control.handle(.requested(Self.claim(1), timeout: nil), at: 0) == [.grant(Self.claim(1))])
    for holder: Int64 in [-2, 3, 4] {
      #expect(control.handle(.requested(Self.claim(holder), timeout: nil), at: 0).isEmpty)
    }
    #expect(control.handle(.released(Self.claim(1)), at: 1) == [.grant(Self.claim(-2))])
    #expect(control.handle(.released(Self.claim(1)), at: 1).isEmpty, "it has nothing to give back any more")
    #expect(control.handle(.holderGone(.connection(3)), at: 2).isEmpty)
    #expect(control.handle(.holderGone(.run(2)), at: 2) == [.grant(Self.claim(4))])
  }

  @Test(
    "Of an app that is removed all who wait for control are refused, with a date and without, and none is forgotten [B67]"
  )
  func appRemoved() {
    var control = ExclusiveControl()
    _ = control.handle(.requested(Self.claim(1), timeout: nil), at: 0)
    _ = control.handle(.requested(Self.claim(2), timeout: nil), at: 0)
    _ = control.handle(.requested(Self.claim(-3), timeout: .seconds(5)), at: 0)
    #expect(
      control.handle(.appRemoved, at: 1) == [.refuse(Self.claim(2), .appRemoved), .refuse(Self.claim(-3), .appRemoved)])
    #expect(control.handle(.released(Self.claim(1)), at: 2).isEmpty)
    #expect(control == ExclusiveControl())
  }

  @Test("With the present moment as its date a request is tried once and fails at once [B68]")
  func tryOnce() {
    var control = ExclusiveControl()
    #expect(control.handle(.requested(Self.claim(1), timeout: .zero), at: 0) == [.grant(Self.claim(1))])
    #expect(control.handle(.requested(Self.claim(2), timeout: .zero), at: 0) == [.refuse(Self.claim(2), .notInTime)])
    #expect(
      control.handle(.requested(Self.claim(3), timeout: .seconds(-5)), at: 0) == [.refuse(Self.claim(3), .notInTime)])
  }

  @Test("A date that passes refuses; one without a date waits for ever [B68]")
  func dates() {
    var control = ExclusiveControl()
    _ = control.handle(.requested(Self.claim(1), timeout: nil), at: 0)
    _ = control.handle(.requested(Self.claim(2), timeout: .seconds(5)), at: 0)
    _ = control.handle(.requested(Self.claim(3), timeout: nil), at: 0)
    #expect(control.nextDeadline == Instant(seconds: 5))
    #expect(control.handle(.tick, at: 4.9).isEmpty)
    #expect(control.handle(.tick, at: 5) == [.refuse(Self.claim(2), .notInTime)])
    #expect(control.nextDeadline == nil)
    // A release that comes after the date doesn't grant what is late.
    _ = control.handle(.requested(Self.claim(4), timeout: .seconds(1)), at: 6)
    #expect(
      control.handle(.released(Self.claim(1)), at: 9) == [.refuse(Self.claim(4), .notInTime), .grant(Self.claim(3))])
  }

  @Test("One holder can't fill the queue, nor use a token twice")
  func bounds() {
    var control = ExclusiveControl()
    _ = control.handle(.requested(Self.claim(1), timeout: nil), at: 0)
    #expect(control.handle(.requested(Self.claim(1), timeout: nil), at: 0) == [.refuse(Self.claim(1), .tokenInUse)])
    for token in 0..<UInt64(ExclusiveControl.maxWaiting) {
      #expect(control.handle(.requested(Self.claim(2, token), timeout: nil), at: 0).isEmpty)
    }
    #expect(
      control.handle(.requested(Self.claim(2, 999), timeout: nil), at: 0) == [.refuse(Self.claim(2, 999), .tooMany)])
  }

  @Test(
    "At most one holder, in order, each request answered once and no date passed over [B65 to B69]",
    arguments: [Seed.current])
  func random(seed: Seed) throws {
    var random = seed.generator
    var control = ExclusiveControl()
    var now = Instant.start
    var token: UInt64 = 0
    var open: [ExclusiveControl.Claim: Instant] = [:]
    var order: [ExclusiveControl.Claim] = []
    for _ in 0..<10_000 {
      now = now + .milliseconds(random.below(3000))
      let before = control
      let event: ExclusiveControl.Event
      switch random.below(8) {
      case 0, 1, 2:
        token += 1
        let claim = Self.claim(Int64(random.below(6)) - 2, token)
        let timeout: Duration? = random.chance(2) ? nil : .seconds(random.below(20))
        open[claim] = timeout.map { now + $0 } ?? Instant(nanoseconds: .max)
        order.append(claim)
        event = .requested(claim, timeout: timeout)
      case 3: event = .holderGone(Self.claim(Int64(random.below(6)) - 2).holder)
      case 4: event = random.chance(9) ? .restarted : .tick
      case 5: event = .released(control.waiting.randomElement(using: &random)?.claim ?? Self.claim(1))
      default: event = control.holder.map { .released($0) } ?? .tick
      }
      for effect in try control.handleAsTwins(event, now: now) {
        switch effect {
        case .grant(let claim):
          #expect(control.holder == claim && before.holder != claim)
          #expect(open.removeValue(forKey: claim) != nil, "answered twice")
          let earlier = order.prefix { $0 != claim }
          #expect(!control.waiting.contains { earlier.contains($0.claim) }, "out of order")
        case .refuse(let claim, _): #expect(open.removeValue(forKey: claim) != nil, "answered twice")
        }
      }
      order = control.waiting.map(\.claim)
      for claim in open.keys where !order.contains(claim) { open[claim] = nil }
      #expect(open.values.allSatisfy { $0 > now }, "a date has passed")
      #expect(control.holder != nil || control.waiting.isEmpty, "free, and a caller waits")
    }
  }
}
