import AssetModel
import Testing

@testable import Downloads

@Suite struct ChunkMapTests {
  static func list(_ count: Int) -> ChunkList {
    let size: Int64 = 64 << 10
    return ChunkList(
      chunkSize: size, totalSize: Int64(count - 1) * size + 1, digests: [UInt8](repeating: 0, count: count * 32))!
  }

  @Test func survivesTheJournal() {
    var map = ChunkMap(Self.list(19))
    let run = map.claim(atMost: 5 * 64 << 10)
    #expect(run == 0..<5)
    for index in 0..<4 {
      map.written(index)
      let isWorthwhile = map.verified(index, isRight: true)
      #expect(isWorthwhile)
    }
    let again = ChunkMap(map.list, verified: map.bits)
    #expect(again.verifiedBytes == 4 * 64 << 10 && again.journalledBytes == again.verifiedBytes)
  }

  @Test func aChunkThatStaysWrongIsGivenUp() {
    var map = ChunkMap(Self.list(2))
    for attempt in 1...2 {
      _ = map.claim(atMost: .max)
      map.written(0)
      let isWorthwhile = map.verified(0, isRight: false)
      #expect(isWorthwhile == (attempt == 1))
      map.release(0..<2)
    }
  }

  /// Whatever happens in whatever order, no chunk is given to two at once and the map is complete in the end.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func neverClaimsTwice(seed: UInt64) {
    var random = SplitMix(seed)
    var map = ChunkMap(Self.list(64))
    var claims: [Range<Int>] = []
    var steps = 0
    while !map.isComplete, steps < 100_000 {
      steps += 1
      if claims.count < 8, let run = map.claim(atMost: Int64(random.next() % 9) * 64 << 10) {
        #expect(!claims.contains(where: { $0.overlaps(run) }), "seed \(seed)")
        claims.append(run)
      } else if !claims.isEmpty {
        let run = claims.remove(at: Int(random.next() % UInt64(claims.count)))
        for index in run where random.next() % 4 != 0 {
          map.written(index)
          _ = map.verified(index, isRight: true)
        }
        map.release(run)
      }
    }
    #expect(map.isComplete, "seed \(seed)")
  }
}
