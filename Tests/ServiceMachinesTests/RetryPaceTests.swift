import AssetModel
import TestSupport
import Testing

@testable import ServiceMachines

extension RetryPace: Machine {}

@Suite(.timeLimit(.minutes(2))) struct RetryPaceTests {
  @Test(
    "Nothing is put off before the second failure; then each time twice as long, up to an hour [B13, B47]",
    arguments: [(0, 0), (1, 0), (2, 10), (3, 20), (6, 160), (10, 2560), (11, 3600), (12, 3600), (1000, 3600)])
  func delay(failures: Int, seconds: Int) {
    #expect(RetryPace.delay(after: failures) == .seconds(seconds))
  }

  @Test(
    "What is scheduled as soon as it fails is tried so often a day, and begins anew after it worked"
  )
  func loop() throws {
    var pace = RetryPace()
    var (now, attempts, last) = (Instant.start, 0, Duration.zero)
    func attempt(_ begins: [RetryPace.Effect], _ end: RetryPace.Event) throws {
      var begins = begins
      if begins.isEmpty {
        now = try #require(pace.nextDeadline)
        begins = try pace.handleAsTwins(.tick, now: now)
      }
      #expect(begins == [.start(uniqueIdentifier: "u")] && pace.start(of: "u") == nil)
      _ = try pace.handleAsTwins(end, now: now)
    }
    while now < .start + .hours(24) {
      let before = now
      let failed = RetryPace.Event.failed(uniqueIdentifier: "u", identifier: "x")
      try attempt(pace.handleAsTwins(.scheduled(uniqueIdentifier: "u", identifier: "x"), now: now), failed)
      attempts += 1
      #expect(now - before >= last || last == .hours(1))
      last = now - before
    }
    #expect((20...40).contains(attempts), "\(attempts)")
    // Another one isn't held up by it.
    #expect(
      try pace.handleAsTwins(.scheduled(uniqueIdentifier: "v", identifier: "y"), now: now)
        == [.start(uniqueIdentifier: "v")])
    let worked = RetryPace.Event.finished(uniqueIdentifier: "u", identifier: "x")
    try attempt(pace.handleAsTwins(.scheduled(uniqueIdentifier: "u", identifier: "x"), now: now), worked)
    #expect(
      try pace.handleAsTwins(.scheduled(uniqueIdentifier: "u", identifier: "x"), now: now)
        == [.start(uniqueIdentifier: "u")])
  }

  @Test("What waits begins at once where a user wants it, and never where nobody does any more")
  func ends() {
    var pace = RetryPace()
    func wait(_ unique: String) {
      for _ in 1...2 { _ = pace.handle(.failed(uniqueIdentifier: "", identifier: "x"), at: 0) }
      #expect(pace.handle(.scheduled(uniqueIdentifier: unique, identifier: "x"), at: 1).isEmpty)
    }
    wait("a")
    #expect(pace.handle(.hurried(uniqueIdentifier: "a"), at: 1) == [.start(uniqueIdentifier: "a")])
    #expect(pace.handle(.hurried(uniqueIdentifier: "a"), at: 1).isEmpty && pace.nextDeadline == nil)
    for event in [
      RetryPace.Event.withdrawn(uniqueIdentifier: "b"), .failed(uniqueIdentifier: "b", identifier: "x"),
      .finished(uniqueIdentifier: "b", identifier: "x"),
    ] {
      wait("b")
      #expect(pace.handle(event, at: 1).isEmpty && pace.nextDeadline == nil)
      #expect(pace.handle(.tick, at: 1_000_000).isEmpty)
    }
  }

  @Test(
    "However downloads fail, each begins once, and what is kept is bounded",
    arguments: [Seed.current])
  func random(seed: Seed) throws {
    var random = seed.generator
    var (pace, now) = (RetryPace(), Instant.start)
    var (open, begun) = (Set<String>(), Set<String>())
    for step in 0..<5_000 {
      now = now + .seconds(random.below(30))
      // Many names, so that the oldest are forgotten.
      let name = random.chance(2) ? "\(random.below(5))" : "\(random.below(5_000))"
      let event: RetryPace.Event
      switch random.below(4) {
      case 0:
        open.insert("u\(step)")
        event = .scheduled(uniqueIdentifier: "u\(step)", identifier: name)
      case 1: event = .failed(uniqueIdentifier: open.min() ?? "", identifier: name)
      case 2: event = .tick
      default:
        event =
          random.chance(5)
          ? .withdrawn(uniqueIdentifier: open.min() ?? "") : .hurried(uniqueIdentifier: open.min() ?? "")
      }
      let effects = step % 50 == 0 ? try pace.handleAsTwins(event, now: now) : pace.handle(event, now: now)
      for case .start(let unique) in effects { #expect(open.contains(unique) && begun.insert(unique).inserted) }
      switch event {
      case .failed(let unique, _), .withdrawn(let unique), .hurried(let unique):
        open.remove(unique)
        #expect(pace.start(of: unique) == nil)
      case .scheduled(let unique, _): #expect(begun.contains(unique) == (pace.start(of: unique) == nil))
      case .tick: #expect(pace.nextDeadline ?? now + .seconds(1) > now)
      case .finished: break
      }
      #expect(pace.nextDeadline ?? now <= now + RetryPace.cap)
    }
    #expect(pace.rememberedCount <= RetryPace.maxIdentifiers)
  }
}
