import AssetModel
import Basics
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// Whatever volumes say and jobs do: what is admitted adds up, no job is asked or told twice, and every hold has an end.
@Suite(.timeLimit(.minutes(1))) struct SpaceLedgerPropertyTests {
  private enum Kind { case low, short, failing, plenty }

  /// What the ledger was told, and what it has told.
  private struct Model {
    var admitted: [JobID: Int64] = [:]
    var lastTold: [UInt64: Kind] = [:]
    var isMakingRoom: Set<UInt64> = []
    /// Directories of volumes that had too little room or failed.
    var troubled: Set<String> = []
  }

  private static let policy = FreeSpacePolicy(minimum: 1000, percent: 0, maximum: 1000)

  private static func kind(_ report: VolumeReport) -> Kind {
    switch report {
    case .low: .low
    case .short: .short
    case .failing: .failing
    case .plenty: .plenty
    }
  }

  private static func space(_ random: inout SeededGenerator) -> VolumeSpace {
    VolumeSpace(
      free: .random(in: 0...4000, using: &random), total: 100_000,
      freeInodes: random.chance(2) ? nil : .random(in: 0...10, using: &random))
  }

  @Test(arguments: 0..<200) func randomVolumes(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var ledger = SpaceLedger(policy: Self.policy)
    var model = Model()
    var now = Duration.zero
    for step in 0..<200 {
      let context = "seed \(seed), step \(step)"
      now += .milliseconds(Int64.random(in: 0...8000, using: &random))
      let device = UInt64(random.below(3))
      let place = SpaceLedger.Place(device: device, directory: "/v\(device)/d\(random.below(3))")
      var report: VolumeReport?
      switch random.below(9) {
      case 0, 1:
        let id = JobID(.random(in: 0..<20, using: &random))
        let total = Int64.random(in: 0...1500, using: &random)
        ledger.admit(id, to: total)
        model.admitted[id] = total
      case 2:
        let id = JobID(.random(in: 0..<20, using: &random))
        // Released twice it is released once.
        for _ in 0...random.below(2) { ledger.release(id) }
        model.admitted[id] = nil
      case 3:
        report = ledger.checked(at: place, space: Self.space(&random))
        if report != nil { model.troubled.insert(place.directory) }
      case 4, 5:
        let shortage = ledger.refusal(
          need: .random(in: 0...1000, using: &random), at: place, space: random.chance(5) ? nil : Self.space(&random),
          lacksInodes: random.chance(5))
        let canAsk = Bool.random(using: &random)
        let refusal = ledger.refused(shortage, now: now, canAsk: canAsk)
        #expect(refusal.until >= now + .seconds(5) && refusal.until <= now + .seconds(60), "\(context)")
        #expect(refusal.asksForRoom == (canAsk && !model.isMakingRoom.contains(device)), "one question: \(context)")
        if refusal.asksForRoom { model.isMakingRoom.insert(device) }
        model.troubled.insert(place.directory)
        report = refusal.report
      case 6:
        let hasDeleted = Bool.random(using: &random)
        #expect(ledger.madeRoom(on: device, hasDeleted: hasDeleted) == hasDeleted, "\(context)")
        model.isMakingRoom.remove(device)
      case 7:
        report = ledger.failed(at: place, code: 5, now: now)
        model.troubled.insert(place.directory)
      default:
        expectStandingHold(&ledger, model, place, &random, now, context)
      }
      if let report {
        let kind = Self.kind(report)
        #expect(model.lastTold[device] != kind, "told twice: \(context), \(report)")
        model.lastTold[device] = kind
        // Of a volume that has room and works nothing is remembered, not even a question.
        if kind == .plenty { model.isMakingRoom.remove(device) }
      }
      let sum = model.admitted.values.reduce(0, +)
      #expect(ledger.admittedBytes == sum && sum >= 0, "\(context)")
      expectShortage(ledger, place, running: model.admitted.count, &random, context)
    }
    for id in model.admitted.keys { ledger.release(id) }
    #expect(ledger.admittedBytes == 0, "seed \(seed)")
  }

  private func expectStandingHold(
    _ ledger: inout SpaceLedger, _ model: Model, _ place: SpaceLedger.Place, _ random: inout SeededGenerator,
    _ now: Duration, _ context: String
  ) {
    let remaining = random.chance(8) ? Int64.max : .random(in: 0...1500, using: &random)
    let isBackground = Bool.random(using: &random)
    guard
      let (reason, until) = ledger.standingHold(
        directory: place.directory, remaining: remaining, isBackground: isBackground, now: now)
    else { return }
    #expect(until > now && until <= now + .seconds(60), "a hold has an end: \(context)")
    #expect(model.troubled.contains(place.directory), "nothing was wrong there: \(context)")
    switch reason {
    case .disk(let shortage):
      #expect(shortage.need == remaining && shortage.device == place.device && isBackground, "\(context)")
      #expect(remaining != .max && shortage.directory == place.directory, "\(context)")
    case .volume(let code): #expect(code == 5 && model.lastTold[place.device] != nil, "\(context)")
    default: Issue.record("\(context): \(reason)")
    }
  }

  /// Room is refused exactly where neither what was admitted nor what is still to be written leaves enough.
  private func expectShortage(
    _ ledger: SpaceLedger, _ place: SpaceLedger.Place, running: Int, _ random: inout SeededGenerator, _ context: String
  ) {
    let (space, isBackground) = (Self.space(&random), Bool.random(using: &random))
    let need = Int64.random(in: 0...1000, using: &random)
    let reserved = DiskReservation(
      bytes: .random(in: 0...max(0, ledger.admittedBytes), using: &random), inodes: Int64(random.below(5)))
    func isEnough(_ reserved: DiskReservation) -> Bool {
      Self.policy.allows(
        need: need, free: space.free, reserved: reserved, total: space.total, freeInodes: space.freeInodes,
        isBackground: isBackground)
    }
    let shortage = ledger.shortage(
      need: need, at: place, space: space, isBackground: isBackground, running: running, reserved: { reserved })
    let all = DiskReservation(bytes: ledger.admittedBytes, inodes: Int64(running))
    #expect((shortage == nil) == (isEnough(all) || isEnough(reserved)), "\(context)")
    #expect(shortage.map { $0.need == need && $0.free == space.free && $0.missing >= 0 } ?? true, "\(context)")
  }
}
