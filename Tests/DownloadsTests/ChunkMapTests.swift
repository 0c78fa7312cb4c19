import AssetModel
import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(2))) struct ChunkMapTests {
  static func list(_ count: Int) -> ChunkList {
    let size: Int64 = 64 << 10
    return ChunkList(
      chunkSize: size, totalSize: Int64(count - 1) * size + 1, digests: [UInt8](repeating: 0, count: count * 32))!
  }

  @Test func survivesTheJournal() {
    var map = ChunkMap(Self.list(19))
    let run = map.claim(atMost: 5 * 64 << 10)
    #expect(run?.chunks == 0..<5 && run?.from == 0)
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
      map.release(0..<2, at: 0)
    }
  }

  /// Whatever happens in whatever order, no chunk is given to two at once and the map is complete in the end.
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func neverClaimsTwice(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var map = ChunkMap(Self.list(64))
    let size: Int64 = 64 << 10
    var claims: [(chunks: Range<Int>, from: Int64)] = []
    // Bytes of chunks whose beginning is there.
    var beginnings: [Int: Int64] = [:]
    var steps = 0
    while !map.isComplete, steps < 100_000 {
      steps += 1
      if claims.count < 8, let run = map.claim(atMost: Int64(random.next() % 9) * 64 << 10) {
        #expect(!claims.contains(where: { $0.chunks.overlaps(run.chunks) }), "seed \(seed)")
        let begun = beginnings.removeValue(forKey: run.chunks.lowerBound) ?? 0
        #expect(run.from == Int64(run.chunks.lowerBound) * size + begun, "seed \(seed)")
        #expect(run.chunks.allSatisfy { beginnings[$0] == nil }, "seed \(seed)")
        claims.append(run)
      } else if !claims.isEmpty {
        let run = claims.remove(at: Int(random.next() % UInt64(claims.count)))
        let end = min(Int64(run.chunks.upperBound) * size, map.list.totalSize)
        let offset = run.from + Int64(random.next() % UInt64(end - run.from + 1))
        for index in run.chunks where map.list.range(of: index).upperBound <= offset {
          map.written(index)
          _ = map.verified(index, isRight: random.next() % 16 != 0)
        }
        map.release(run.chunks, at: offset)
        if offset < end, offset % size != 0 { beginnings[Int(offset / size)] = offset % size }
      }
      let begun = beginnings.values.reduce(0, +)
      let claimed = claims.reduce(Int64(0)) { $0 + map.claimedBytes(in: $1.chunks, before: .max) }
      #expect(map.arrivedBytes == map.verifiedBytes + begun, "seed \(seed)")
      #expect(map.verifiedBytes + map.missingBytes + claimed == map.list.totalSize, "seed \(seed)")
    }
    #expect(map.isComplete, "seed \(seed)")
  }
}
