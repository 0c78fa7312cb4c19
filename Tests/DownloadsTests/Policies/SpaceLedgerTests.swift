import AssetModel
import Basics
import LinuxSystem
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct SpaceLedgerTests {
  private static let place = SpaceLedger.Place(device: 7, directory: "/v/d")
  private static func ledger(floor: Int64 = 100) -> SpaceLedger {
    SpaceLedger(policy: FreeSpacePolicy(minimum: floor, percent: 0, maximum: floor))
  }
  private static func space(_ free: Int64) -> VolumeSpace {
    VolumeSpace(free: free, total: 1_000_000, freeInodes: nil)
  }

  @Test func othersAreAskedOnlyWhereTheirAdmissionsLeaveTooLittle() {
    var ledger = Self.ledger()
    ledger.admit(JobID(1), to: 500)
    var asked = 0
    func missing(_ free: Int64, _ reserved: Int64) -> SpaceShortage? {
      ledger.shortage(need: 50, at: Self.place, space: Self.space(free), isBackground: false, running: 1) {
        asked += 1
        return DiskReservation(bytes: reserved, inodes: 0)
      }
    }
    #expect(missing(650, 0) == nil && asked == 0)
    #expect(missing(649, 400) == nil && asked == 1, "the other one has less to write than it was admitted for")
    #expect(missing(549, 400)?.missing == 0 && asked == 2)
    #expect(missing(100, 0)?.missing == 50)
  }

  @Test("A background download that a low volume keeps waiting says how much has to be free for it") func background() {
    var ledger = Self.ledger()
    func shortage(_ free: Int64, isBackground: Bool) -> SpaceShortage? {
      ledger.shortage(need: 1, at: Self.place, space: Self.space(free), isBackground: isBackground, running: 0) {
        DiskReservation()
      }
    }
    #expect(shortage(199, isBackground: false) == nil && shortage(200, isBackground: true) == nil)
    guard let low = shortage(199, isBackground: true) else { return #expect(Bool(false), "it starts") }
    #expect(low.backgroundFloor == 200 && low.missing == 1 && shortage(50, isBackground: false)?.backgroundFloor == nil)
    // Those behind it say the same.
    _ = ledger.refused(low, now: .zero, canAsk: false)
    let held = ledger.standingHold(directory: "/v/d", remaining: 5, isBackground: true, now: .seconds(1))
    guard case .disk(let standing)? = held?.reason else { return #expect(Bool(false), "it isn't held") }
    #expect(standing.backgroundFloor == 200 && standing.missing == 1)
  }

  @Test func eachChangeOfAVolumeIsToldOnce() {
    var ledger = Self.ledger()
    func look(_ free: Int64) -> VolumeReport? { ledger.checked(at: Self.place, space: Self.space(free)) }
    #expect(look(500) == nil)
    #expect(look(199) == .low(directory: "/v/d", free: 199) && look(150) == nil)
    #expect(look(200) == .plenty(directory: "/v/d") && look(300) == nil)
    let failing = [
      ledger.failed(at: Self.place, code: 5, now: .zero), ledger.failed(at: Self.place, code: 5, now: .seconds(1)),
    ]
    #expect(failing == [.failing(directory: "/v/d", errno: 5), nil])
  }

  @Test func waitsGrowToAMinuteAndOneQuestionIsAsked() {
    var ledger = Self.ledger()
    let shortage = ledger.refusal(need: 50, at: Self.place, space: Self.space(10), lacksInodes: false)
    let refusals = (0..<6).map { _ in ledger.refused(shortage, now: .zero, canAsk: true) }
    #expect(refusals.map(\.until) == [5, 10, 20, 40, 60, 60].map { .seconds($0) })
    #expect(refusals.map(\.asksForRoom) == [true, false, false, false, false, false])
    #expect(refusals.map { $0.report != nil } == [true, false, false, false, false, false])
    let looks = [
      ledger.madeRoom(on: 7, hasDeleted: false), ledger.refused(shortage, now: .zero, canAsk: true).asksForRoom,
      ledger.madeRoom(on: 7, hasDeleted: true),
    ]
    #expect(looks == [false, true, true])
    #expect(ledger.refused(shortage, now: .zero, canAsk: false).until == .seconds(5), "it begins anew")
  }

  @Test func aQueueDoesntLookAtAFullDiskOneByOne() throws {
    var ledger = Self.ledger()
    let shortage = ledger.refusal(need: 50, at: Self.place, space: Self.space(10), lacksInodes: false)
    _ = ledger.refused(shortage, now: .zero, canAsk: false)
    func standing(_ remaining: Int64, background: Bool = true, _ now: Duration = .seconds(1)) -> Hold.Reason? {
      ledger.standingHold(directory: "/v/d", remaining: remaining, isBackground: background, now: now)?.reason
    }
    guard case .disk(let held)? = standing(60) else { throw Unexpected("not held") }
    #expect(held.need == 60 && held.free == 10)
    #expect(standing(49) == nil, "smaller than what was refused")
    #expect(standing(60, background: false) == nil && standing(.max) == nil)
    #expect(standing(60, .seconds(5)) == nil, "its time is over")
    #expect(standing(60) == nil, "and it is looked at for the next job")
  }

  /// However jobs come, grow and go: the sum is that of those that run, and ends at nothing.
  @Test(arguments: 0..<50) func admissionsAddUp(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var ledger = Self.ledger()
    var known: [JobID: Int64] = [:]
    for _ in 0..<300 {
      let id = JobID(.random(in: 0..<20, using: &random))
      if Bool.random(using: &random) {
        known[id] = .random(in: 0...1 << 40, using: &random)
        ledger.admit(id, to: known[id] ?? 0)
      } else {
        known[id] = nil
        ledger.release(id)
      }
      #expect(
        ledger.admittedBytes == known.values.reduce(0, +) && ledger.admission(of: id) == known[id], "seed \(seed)")
    }
    for id in known.keys { ledger.release(id) }
    #expect(ledger.admittedBytes == 0)
  }
}
