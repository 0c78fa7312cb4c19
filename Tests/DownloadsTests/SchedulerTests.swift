import AssetModel
import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(2))) struct SchedulerTests {
  static func entry(
    _ number: Int64, app: UInt32 = 0, origin: UInt32 = 0, _ transferClass: TransferClass = .background,
    priority: Int = 0,
    remaining: Int64? = 1 << 30, since: Duration = .zero
  ) -> Scheduler.Entry {
    Scheduler.Entry(
      id: JobID(number), app: app, origin: origin, transferClass: transferClass, priority: priority,
      remaining: remaining,
      since: since)
  }

  static func next(_ scheduler: inout Scheduler, now: Duration = .zero, blocked: Set<UInt32> = []) -> Scheduler
    .Decision?
  {
    scheduler.next(now: now, isClassBlocked: { _ in false }, isOriginBlocked: { origin, _ in blocked.contains(origin) })
  }

  static func started(_ scheduler: inout Scheduler, now: Duration = .zero) -> [Int64] {
    var ids: [Int64] = []
    while case .start(let entry)? = next(&scheduler, now: now) { ids.append(entry.id.number) }
    return ids
  }

  @Test("classes go first, then priorities, then who needs little, then who waits longest [B46]")
  func classesThenPriorityThenRestThenAge() {
    var scheduler = Scheduler()
    scheduler.limits.perOrigin = 16
    scheduler.enqueue(Self.entry(1, .prefetch), now: .zero)
    scheduler.enqueue(Self.entry(2, remaining: 500), now: .zero)
    scheduler.enqueue(Self.entry(3, remaining: 100), now: .zero)
    scheduler.enqueue(Self.entry(4, priority: 5), now: .zero)
    scheduler.enqueue(Self.entry(5, .essential), now: .zero)
    scheduler.enqueue(Self.entry(6, .foreground), now: .zero)
    #expect(Self.started(&scheduler) == [6, 5, 4, 3, 2, 1])
  }

  @Test func capsHold() {
    var scheduler = Scheduler()
    for number in 1...40 {
      scheduler.enqueue(
        Self.entry(Int64(number), app: UInt32(number), origin: UInt32(number % 10), remaining: 1000), now: .zero)
    }
    #expect(Self.started(&scheduler).count == scheduler.limits.background)
    for number in 101...140 { scheduler.enqueue(Self.entry(Int64(number), origin: 3, .foreground), now: .zero) }
    let foreground = Self.started(&scheduler)
    let sameOrigin = scheduler.running.values.count { $0.entry.origin == 3 }
    #expect(sameOrigin <= scheduler.limits.perOriginWithForeground && !foreground.isEmpty)
    #expect(scheduler.running.count <= scheduler.limits.transfers)
  }

  @Test func oneSlotIsKeptForSmallOnes() {
    var scheduler = Scheduler()
    for number in 1...20 { scheduler.enqueue(Self.entry(Int64(number), origin: UInt32(number)), now: .zero) }
    #expect(Self.started(&scheduler).count == scheduler.limits.background - 1)
    scheduler.enqueue(Self.entry(99, origin: 99, remaining: 1 << 20), now: .zero)
    #expect(Self.started(&scheduler) == [99])
  }

  @Test func aLargeOneMakesRoomAfterItsTurn() {
    var scheduler = Scheduler()
    scheduler.limits.background = 2
    scheduler.enqueue(Self.entry(1, origin: 1), now: .zero)
    #expect(Self.started(&scheduler) == [1])
    scheduler.enqueue(Self.entry(2, origin: 2, remaining: 1000), now: .zero)
    #expect(Self.started(&scheduler) == [2])
    scheduler.enqueue(Self.entry(3, origin: 3, remaining: 1000), now: .zero)
    #expect(Self.next(&scheduler) == nil)
    scheduler.received(65 << 20, by: JobID(1))
    #expect(Self.next(&scheduler) == .yield(JobID(1)))
    #expect(Self.next(&scheduler) == nil, "one at a time")
    scheduler.remove(JobID(1))
    scheduler.enqueue(Self.entry(1, origin: 1), now: .zero)
    #expect(Self.started(&scheduler) == [3])
  }

  @Test func aForegroundRequestPreempts() {
    var scheduler = Scheduler()
    scheduler.limits.transfers = 2
    scheduler.enqueue(Self.entry(1, origin: 1, .essential), now: .zero)
    scheduler.enqueue(Self.entry(2, origin: 2, .prefetch, remaining: 1000), now: .zero)
    #expect(Self.started(&scheduler) == [1, 2])
    scheduler.enqueue(Self.entry(3, origin: 3, .foreground), now: .zero)
    #expect(Self.next(&scheduler) == .yield(JobID(2)))
  }

  @Test func waitingRaisesPriority() {
    var scheduler = Scheduler()
    scheduler.limits.background = 1
    // Four steps of ten minutes beat a priority of three.
    scheduler.enqueue(Self.entry(1, remaining: 10, since: .zero), now: .seconds(2400))
    scheduler.enqueue(Self.entry(2, priority: 3, remaining: 10, since: .seconds(2400)), now: .seconds(2400))
    #expect(Self.started(&scheduler, now: .seconds(2400)) == [1])
  }

  @Test func aPrefetchIsPromotedAfterADay() {
    var scheduler = Scheduler()
    scheduler.enqueue(Self.entry(1, .prefetch, since: .seconds(-25 * 3600)), now: .zero)
    guard case .start(let entry)? = Self.next(&scheduler) else {
      Issue.record("not started")
      return
    }
    #expect(entry.transferClass == .background)
  }

  @Test func aBlockedOriginHoldsOnlyItself() {
    var scheduler = Scheduler()
    scheduler.enqueue(Self.entry(1, origin: 1, priority: 9), now: .zero)
    scheduler.enqueue(Self.entry(2, origin: 2), now: .zero)
    guard case .start(let entry)? = Self.next(&scheduler, blocked: [1]) else {
      Issue.record("nothing started")
      return
    }
    #expect(entry.id == JobID(2))
    #expect(Self.next(&scheduler, blocked: [1]) == nil)
  }

  /// Two apps with endless jobs of random sizes get equal bytes, within a tenth.
  @Test(arguments: 1...5 as ClosedRange<UInt64>) func appsShareFairly(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var scheduler = Scheduler()
    scheduler.limits.background = 4
    scheduler.limits.perOrigin = 16
    var received: [UInt32: Int64] = [:]
    var number: Int64 = 0
    var waiting: [UInt32: Int] = [:]
    func refill() {
      // The first app always has ten times as many waiting, and larger ones.
      for (app, count, most) in [(0, 50, 4 << 20), (1, 5, 1 << 20)] as [(UInt32, Int, UInt64)] {
        while waiting[app, default: 0] < count {
          number += 1
          waiting[app, default: 0] += 1
          scheduler.enqueue(Self.entry(number, app: app, remaining: Int64(random.next() % most) + 1), now: .zero)
        }
      }
    }
    for _ in 0..<20_000 {
      refill()
      while case .start(let entry)? = Self.next(&scheduler) { waiting[entry.app, default: 0] -= 1 }
      guard let (id, job) = scheduler.running.min(by: { $0.key < $1.key }) else { continue }
      scheduler.received(job.entry.remaining, by: id)
      received[job.entry.app, default: 0] += job.entry.remaining
      scheduler.remove(id)
    }
    let share = Double(received[0] ?? 0) / Double((received[0] ?? 0) + (received[1] ?? 1))
    #expect((0.4...0.6).contains(share), "share \(share), seed \(seed)")
  }

  /// Against a plain model: every waiting job is started at most once, removed ones never.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func startsWhatItWasGiven(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var scheduler = Scheduler()
    var waiting: Set<Int64> = []
    var running: Set<Int64> = []
    for step in 0..<3000 {
      let number = Int64(random.next() % 60)
      switch random.next() % 4 {
      case 0:
        if !running.contains(number) {
          scheduler.enqueue(
            Self.entry(
              number, app: UInt32(random.next() % 3), origin: UInt32(random.next() % 3),
              TransferClass(rawValue: Int(random.next() % 4) + 1) ?? .background,
              remaining: Int64(random.next() % 10_000_000)),
            now: .zero)
          waiting.insert(number)
        }
      case 1:
        scheduler.remove(JobID(number))
        waiting.remove(number)
        running.remove(number)
      default:
        if case .start(let entry)? = Self.next(&scheduler) {
          #expect(waiting.remove(entry.id.number) != nil, "seed \(seed), step \(step)")
          running.insert(entry.id.number)
        }
      }
      #expect(
        scheduler.waitingCount == waiting.count && scheduler.running.count == running.count,
        "seed \(seed), step \(step)")
    }
  }

  @Test func aPrefetchThatWaitsIsPromotedAfterADay() {
    var scheduler = Scheduler()
    scheduler.limits.background = 1
    scheduler.limits.small = 0
    scheduler.enqueue(Self.entry(1, remaining: 0), now: .zero)
    #expect(Self.started(&scheduler) == [1])
    scheduler.enqueue(Self.entry(2, .prefetch, remaining: 0), now: .zero)
    let day: Duration = .seconds(25 * 3600)
    scheduler.enqueue(Self.entry(3, remaining: 0, since: day), now: day)
    scheduler.remove(JobID(1))
    // Of one class now, the older one goes first.
    #expect(Self.started(&scheduler, now: day) == [2])
  }

  @Test func whoCannotMakeRoomIsPassedOver() {
    var scheduler = Scheduler()
    scheduler.limits.transfers = 2
    for number in 1...2 {
      scheduler.enqueue(Self.entry(Int64(number), origin: UInt32(number), remaining: 1), now: .zero)
    }
    #expect(Self.started(&scheduler).count == 2)
    scheduler.enqueue(Self.entry(9, origin: 9, .foreground, remaining: 1), now: .zero)
    guard case .yield(let first)? = Self.next(&scheduler) else { return #expect(Bool(false)) }
    #expect(Self.next(&scheduler) == nil, "one at a time")
    scheduler.keepsSlot(first)
    guard case .yield(let second)? = Self.next(&scheduler) else { return #expect(Bool(false)) }
    #expect(second != first)
    scheduler.transfers(first)
    scheduler.remove(second)
    #expect(Self.started(&scheduler) == [9])
  }

  @Test func eightToOneOriginAreForForegroundOnly() {
    for (transferClass, most) in [(TransferClass.foreground, 8), (.essential, 4)] {
      var scheduler = Scheduler()
      scheduler.enqueue(Self.entry(1, transferClass), now: .zero)
      #expect(Self.started(&scheduler) == [1])
      var count = 1
      while scheduler.permitsConnection(of: JobID(1)), count < 20 {
        count += 1
        scheduler.setConnections(count, of: JobID(1))
      }
      #expect(count == most, "\(transferClass)")
    }
  }

  /// A job in parts takes what no other job wants, and gives it back when one does.
  @Test func whoHasSeveralConnectionsMakesRoomAtItsOrigin() {
    var scheduler = Scheduler()
    scheduler.enqueue(Self.entry(1, .foreground), now: .zero)
    #expect(Self.started(&scheduler) == [1])
    var connections = 1
    while scheduler.permitsConnection(of: JobID(1)) {
      connections += 1
      scheduler.setConnections(connections, of: JobID(1))
    }
    #expect(connections == scheduler.limits.perOriginSegmented)
    scheduler.enqueue(Self.entry(2, .essential, remaining: 1000), now: .zero)
    #expect(Self.started(&scheduler).isEmpty && !scheduler.permitsConnection(of: JobID(1)))
    // Each piece that ends isn't followed by another.
    while Self.started(&scheduler).isEmpty {
      guard connections > 1 else {
        Issue.record("no job made room")
        return
      }
      #expect(!scheduler.permitsConnection(of: JobID(1)))
      connections -= 1
      scheduler.setConnections(connections, of: JobID(1))
    }
    #expect(connections == scheduler.limits.perOriginWithForeground - 1)
    scheduler.remove(JobID(2))
    #expect(scheduler.permitsConnection(of: JobID(1)))
  }

  @Test func jobsInPartsLeaveASlot() {
    var scheduler = Scheduler()
    for number in 1...4 as ClosedRange<Int64> {
      scheduler.enqueue(Self.entry(number, origin: UInt32(number), .foreground), now: .zero)
    }
    #expect(Self.started(&scheduler).count == 4)
    for number in 1...4 as ClosedRange<Int64> {
      var connections = 1
      while scheduler.permitsConnection(of: JobID(number)) {
        connections += 1
        scheduler.setConnections(connections, of: JobID(number))
      }
    }
    scheduler.enqueue(Self.entry(99, origin: 99, .foreground, remaining: 1000), now: .zero)
    #expect(Self.started(&scheduler) == [99])
  }

  /// Who has nothing queued but one that runs has received what it has received.
  @Test func whoComesLateHasNoClaimToWhatOthersHad() {
    var scheduler = Scheduler()
    scheduler.limits.background = 1
    scheduler.limits.perOrigin = 16
    scheduler.enqueue(Self.entry(1, app: 0, remaining: 1000), now: .zero)
    #expect(Self.started(&scheduler) == [1])
    scheduler.received(1 << 30, by: JobID(1))
    for number in 100..<140 as Range<Int64> {
      scheduler.enqueue(Self.entry(number, app: 1, remaining: 1000), now: .zero)
    }
    for number in 200..<240 as Range<Int64> {
      scheduler.enqueue(Self.entry(number, app: 0, remaining: 1000), now: .zero)
    }
    scheduler.remove(JobID(1))
    var served: [UInt32: Int] = [:]
    for _ in 0..<40 {
      guard case .start(let entry)? = Self.next(&scheduler) else { break }
      served[entry.app, default: 0] += 1
      scheduler.received(1 << 20, by: entry.id)
      scheduler.remove(entry.id)
    }
    #expect((15...25).contains(served[0] ?? 0), "\(served)")
  }

  @Test(arguments: [TransferClass.foreground, .essential]) func largeOnesLeaveASlot(transferClass: TransferClass) {
    var scheduler = Scheduler()
    for number in 1...30 {
      scheduler.enqueue(Self.entry(Int64(number), origin: UInt32(number), transferClass), now: .zero)
    }
    #expect(Self.started(&scheduler).count == scheduler.limits.transfers - 1)
    scheduler.enqueue(Self.entry(99, origin: 99, transferClass, remaining: 1 << 20), now: .zero)
    #expect(Self.started(&scheduler) == [99])
  }

  @Test func whoComesBackAgainAndAgainIsKeptOnce() {
    var scheduler = Scheduler()
    scheduler.limits.background = 0
    for _ in 0..<10_000 {
      scheduler.enqueue(Self.entry(1, .prefetch), now: .zero)
      scheduler.remove(JobID(1))
    }
    #expect(scheduler.keptPromotions < 100)
  }
}
