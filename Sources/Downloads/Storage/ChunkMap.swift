internal import AssetModel

/// Which chunks of a file are there, which are being fetched, and what to fetch next. A pure value.
struct ChunkMap {
  enum State: UInt8 { case missing, claimed, written, verified }

  /// What a file was found to hold beside the chunks that the journal knows.
  struct Found: Equatable {
    /// One bit for each chunk with the right digest.
    var verified: [UInt8] = []
    /// Bytes at the start of other chunks that may be right.
    var prefixes: [Int: Int64] = [:]
  }

  let list: ChunkList
  private(set) var states: [State]
  /// Verified chunks that the journal knows.
  private var journalled: [Bool]
  /// Bytes at the start of missing chunks that are on the file.
  private var prefixes: [Int: Int64]
  /// Chunks of which some bytes were there before: that they are wrong is no fault of any server's.
  private var inherited: Set<Int>
  private var mismatches: [Int: Int] = [:]
  /// Who sent each, counted from 1; 0 where that isn't known, or it was several.
  private var senders: [UInt8]

  /// Wrong digests of one chunk after which the file is given up.
  static let maxMismatches = 2

  init(_ list: ChunkList, verified bits: [UInt8] = [], found: Found = Found()) {
    self.list = list
    journalled = (0..<list.count).map { Self.isSet($0, bits) }
    states = journalled.indices.map { Self.isSet($0, bits) || Self.isSet($0, found.verified) ? .verified : .missing }
    prefixes = [:]
    for (index, count) in found.prefixes
    where states.indices.contains(index) && states[index] == .missing && count > 0
      && count < list.range(of: index).count
    {
      prefixes[index] = count
    }
    inherited = Set(prefixes.keys)
    senders = Array(repeating: 0, count: list.count)
  }

  static func isSet(_ index: Int, _ bits: [UInt8]) -> Bool {
    index / 8 < bits.count && bits[index / 8] & (1 << (index % 8)) != 0
  }

  var isComplete: Bool { states.allSatisfy { $0 == .verified } }
  var verifiedBytes: Int64 { bytes { states[$0] == .verified } }
  var journalledBytes: Int64 { bytes { journalled[$0] } }
  /// Bytes of chunks that no connection fetches.
  var missingBytes: Int64 { bytes { states[$0] == .missing } }
  /// Bytes that are on the file, but for those of chunks that are being fetched.
  var arrivedBytes: Int64 {
    bytes { states[$0] == .verified || states[$0] == .written } + prefixes.values.reduce(0, +)
  }

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
    for index in journalled.indices where Self.isSet(index, bits) { journalled[index] = true }
  }

  /// Claims the first run of missing chunks, at most `bytes` long but at least one chunk, and says where its first missing
  /// byte is. `source`: who is asked for them.
  mutating func claim(atMost bytes: Int64, of source: Int = 0) -> (chunks: Range<Int>, from: Int64)? {
    guard let first = states.firstIndex(of: .missing) else { return nil }
    let maxChunks = max(1, Int(bytes / list.chunkSize))
    let prefix = prefixes.removeValue(forKey: first)
    let from = list.range(of: first).lowerBound + (prefix ?? 0)
    let sender = UInt8(source + 1)
    if prefix == nil || senders[first] != sender { senders[first] = prefix == nil ? sender : 0 }
    var end = first
    // A chunk of which there is something begins a run of its own.
    while end < states.count, end - first < maxChunks, states[end] == .missing, prefixes[end] == nil {
      states[end] = .claimed
      if end > first { senders[end] = sender }
      end += 1
    }
    return (first..<end, from)
  }

  /// Claims all that is missing, for a body that brings everything: where the bytes are that are wanted of it.
  mutating func claimAll(of source: Int = 0) -> [Range<Int64>] {
    var wanted: [Range<Int64>] = []
    for index in states.indices where states[index] == .missing {
      states[index] = .claimed
      senders[index] = UInt8(source + 1)
      let range = list.range(of: index)
      if let last = wanted.last, last.upperBound == range.lowerBound {
        wanted[wanted.count - 1] = last.lowerBound..<range.upperBound
      } else {
        wanted.append(range)
      }
    }
    prefixes = [:]
    inherited = []
    return wanted
  }

  /// A transfer ended, all of which before `offset` is on the file or on its way there: what it claimed and didn't bring
  /// is for others.
  mutating func release(_ range: Range<Int>, at offset: Int64) {
    for index in range where states[index] == .claimed {
      let chunk = list.range(of: index)
      guard chunk.upperBound > offset else { continue }
      states[index] = .missing
      if offset > chunk.lowerBound { prefixes[index] = offset - chunk.lowerBound }
    }
  }

  /// Bytes of the claimed chunks of `range` before `offset`.
  func claimedBytes(in range: Range<Int>, before offset: Int64) -> Int64 {
    range.reduce(0) { sum, index in
      let chunk = list.range(of: index)
      return states[index] == .claimed ? sum + max(0, min(offset, chunk.upperBound) - chunk.lowerBound) : sum
    }
  }

  mutating func written(_ index: Int) { if states[index] == .claimed { states[index] = .written } }

  /// Who sent all of it, if that was one alone.
  func sender(of index: Int) -> Int? { senders[index] == 0 ? nil : Int(senders[index]) - 1 }

  /// Beginnings of chunks that a source sent are worth nothing any more.
  mutating func forgetBeginnings(from source: Int) {
    prefixes = prefixes.filter { senders[$0.key] != UInt8(source + 1) }
  }

  /// The digest of a written chunk was computed. Whether the file is still worth fetching. `isBlamed`: a source is to blame that
  /// isn't asked again.
  mutating func verified(_ index: Int, isRight: Bool, isBlamed: Bool = false) -> Bool {
    guard states[index] == .written else { return true }
    states[index] = isRight ? .verified : .missing
    if isRight || inherited.remove(index) != nil || isBlamed || senders[index] == 0 { return true }
    mismatches[index, default: 0] += 1
    return mismatches[index, default: 0] < Self.maxMismatches
  }
}
