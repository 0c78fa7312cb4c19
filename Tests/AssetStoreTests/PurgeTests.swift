import AssetModel
import AssetStore
import Testing

@Suite(.timeLimit(.minutes(1))) struct PurgeTests {
  @Test("What wasn't used for longest goes first, and no more than is needed [B59]") func theOldestGoFirst() {
    func candidate(_ name: String, use: Int64) -> PurgeCandidate {
      PurgeCandidate(directory: "/", name: name, inode: 1, size: 10, lastUse: use)
    }
    let all = [
      candidate("recent", use: 5), candidate("b", use: 3), candidate("a", use: 3), candidate("old", use: 1),
    ]
    let order = ["old", "a", "b", "recent"]
    #expect(PurgePlanner.order(all.shuffled()).map(\.name) == order)
    for needed in 0...5 {
      let plan = PurgePlanner.plan(all, free: 100, target: 100 + Int64(needed * 10))
      #expect(plan.map(\.name) == Array(order.prefix(needed)))
    }
  }

  struct Space {
    var free: Int64
    var total: Int64
    var verdict: FreeSpacePolicy.Verdict
  }
  static let mebibyte: Int64 = 1 << 20
  static let spaces: [Space] = [
    Space(free: 512 * mebibyte, total: 1024 * mebibyte, verdict: .low),
    Space(free: 512 * mebibyte - 1, total: 1024 * mebibyte, verdict: .short(purgeUntil: 563_714_457)),
    Space(free: 1024 * mebibyte, total: 1024 * mebibyte, verdict: .plenty),
    Space(free: 3072 * mebibyte, total: 102_400 * mebibyte, verdict: .low),
    Space(free: 6144 * mebibyte, total: 102_400 * mebibyte, verdict: .plenty),
    Space(free: 3072 * mebibyte - 1, total: 102_400 * mebibyte, verdict: .short(purgeUntil: 3_382_286_745)),
  ]

  @Test(arguments: spaces) func freeSpace(_ space: Space) {
    #expect(FreeSpacePolicy().verdict(free: space.free, total: space.total) == space.verdict)
  }

  @Test func reservationsCountAsWritten() {
    let policy = FreeSpacePolicy(minimum: 100, percent: 0)
    #expect(policy.allows(need: 50, free: 250, reserved: .init(bytes: 100), total: 1000, freeInodes: nil))
    #expect(!policy.allows(need: 51, free: 250, reserved: .init(bytes: 100), total: 1000, freeInodes: nil))
    #expect(!policy.allows(need: 0, free: 250, reserved: .init(inodes: 3), total: 1000, freeInodes: 3))
  }
}
