internal import AssetModel

/// Which chunks of a file are there, which are being fetched, and what to fetch next. A pure value.
struct ChunkMap {
  enum State: UInt8 { case missing, claimed, written, verified }

  let list: ChunkList
  private(set) var states: [State]
  /// Verified chunks that the journal knows.
  private var journalled: [Bool]
  private var mismatches: [Int: Int] = [:]

  /// Wrong digests of one chunk after which the file is given up.
  static let mostMismatches = 2

  init(_ list: ChunkList, verified bits: [UInt8] = []) {
    self.list = list
    journalled = (0..<list.count).map { $0 / 8 < bits.count && bits[$0 / 8] & (1 << ($0 % 8)) != 0 }
    states = journalled.map { $0 ? .verified : .missing }
  }

  var isComplete: Bool { states.allSatisfy { $0 == .verified } }
  var verifiedBytes: Int64 { bytes { states[$0] == .verified } }
  var journalledBytes: Int64 { bytes { journalled[$0] } }
  var missingBytes: Int64 { bytes { states[$0] == .missing } }
  /// Bytes of chunks that are on the file, judged or not.
  var writtenBytes: Int64 { bytes { states[$0] == .written || states[$0] == .verified } }

  private func bytes(_ isCounted: (Int) -> Bool) -> Int64 {
    states.indices.reduce(0) { isCounted($1) ? $0 + Int64(list.range(of: $1).count) : $0 }
  }

  /// One bit per chunk that is verified now.
  var bits: [UInt8] {
    var bits = [UInt8](repeating: 0, count: (list.count + 7) / 8)
    for index in states.indices where states[index] == .verified { bits[index / 8] |= 1 << (index % 8) }
    return bits
  }

  /// The journal has stored these bits.
  mutating func journalled(_ bits: [UInt8]) {
    for index in journalled.indices where bits[index / 8] & (1 << (index % 8)) != 0 { journalled[index] = true }
  }

  /// Claims the first run of missing chunks, at most `bytes` long but at least one chunk.
  mutating func claim(atMost bytes: Int64) -> Range<Int>? {
    guard let first = states.firstIndex(of: .missing) else { return nil }
    let most = max(1, Int(bytes / list.chunkSize))
    var end = first
    while end < states.count, end - first < most, states[end] == .missing {
      states[end] = .claimed
      end += 1
    }
    return first..<end
  }

  /// Claims whatever is missing, for a transfer that brings everything.
  mutating func claimAll() {
    for index in states.indices where states[index] == .missing { states[index] = .claimed }
  }

  /// The parts of `bytes` that belong to claimed chunks. What is written or verified already isn't judged again, so it
  /// may not change either.
  func claimed(in bytes: Range<Int64>) -> [Range<Int64>] {
    guard !bytes.isEmpty else { return [] }
    var parts: [Range<Int64>] = []
    for index in Int(bytes.lowerBound / list.chunkSize)...Int((bytes.upperBound - 1) / list.chunkSize)
    where states[index] == .claimed {
      let part = list.range(of: index).clamped(to: bytes)
      if let last = parts.last, last.upperBound == part.lowerBound {
        parts[parts.count - 1] = last.lowerBound..<part.upperBound
      } else {
        parts.append(part)
      }
    }
    return parts
  }

  /// A transfer ended: what it claimed and didn't bring is for others.
  mutating func release(_ range: Range<Int>) {
    for index in range where states[index] == .claimed { states[index] = .missing }
  }

  mutating func written(_ index: Int) { if states[index] == .claimed { states[index] = .written } }

  /// The digest of a written chunk was computed. Whether the file is still worth fetching.
  mutating func verified(_ index: Int, isRight: Bool) -> Bool {
    guard states[index] == .written else { return true }
    states[index] = isRight ? .verified : .missing
    if isRight { return true }
    mismatches[index, default: 0] += 1
    return mismatches[index, default: 0] < Self.mostMismatches
  }
}
