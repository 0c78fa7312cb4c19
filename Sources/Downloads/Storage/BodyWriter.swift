internal import LinuxSystem

/// Collects what one transfer receives into aligned buffers. Network thread only; the buffers go to the job's lanes.
final class BodyWriter {
  /// By which the job finds it when a buffer is on the file.
  let number: UInt64
  /// Where the next byte belongs.
  private(set) var offset: Int64
  /// The first byte that doesn't belong to this transfer: more is never accepted.
  let end: Int64?
  /// What of the body is compared with what is there, before the first byte is taken.
  private var comparison: TailComparison?
  /// Other bytes came than those that are there: it is another file.
  private(set) var differs = false
  /// Goes with the bytes to the file.
  let check: ContentCheck?
  /// Buffers that aren't on the file yet.
  private(set) var inFlight = 0
  /// Bytes that may be written before the journal knows the file; nil: it does.
  var holdAt: Int64?
  /// What was written has to be looked at before more comes.
  var waitsForTurn = false
  /// Of a body that brings everything: what is wanted of it and hasn't come yet, in order; nil: all of it.
  private var wanted: ArraySlice<Range<Int64>>?
  /// The transport was told to pause, and has to be told when there is room.
  private(set) var isPaused = false

  private var current: TransferBuffer?
  private let pool: BufferPool
  private let handOver: (BodyWriter, TransferBuffer) -> Void

  /// Buffers beyond which the transfer waits for the disk.
  static let maxInFlight = 8

  /// `tail`: the bytes before `offset`, with which the body begins.
  init(
    number: UInt64, from offset: Int64, to end: Int64?, wanted: [Range<Int64>]? = nil, comparing tail: [UInt8] = [],
    check: ContentCheck? = nil, pool: BufferPool, handOver: @escaping (BodyWriter, TransferBuffer) -> Void
  ) {
    self.number = number
    self.offset = offset - Int64(tail.count)
    comparison = TailComparison(tail)
    self.end = end
    self.wanted = wanted.map { $0[...] }
    self.check = check
    self.pool = pool
    self.handOver = handOver
  }

  /// A surplus byte was offered: the peer sends more than it may.
  private(set) var overflowed = false
  /// Bytes that came and weren't wanted.
  private(set) var skipped: Int64 = 0
  /// Nothing more is wanted, though more may come.
  var isSatisfied: Bool { wanted?.last.map { offset >= $0.upperBound } ?? (wanted != nil) }
  /// The body ended before all of it was here.
  var isShort: Bool { wanted == nil ? end.map { offset < $0 } ?? false : !isSatisfied }

  func append(_ bytes: UnsafeRawBufferPointer) -> DataVerdict {
    if isSatisfied { return .abort }
    if let end, Int64(bytes.count) > end - offset {
      overflowed = true
      return .abort
    }
    if !hasRoom {
      isPaused = true
      return .pause
    }
    guard var rest = compare(bytes) else { return .abort }
    while !rest.isEmpty {
      var piece = rest
      if wanted != nil {
        let (skipped, wanted) = nextWanted(of: rest.count)
        offset += Int64(skipped)
        self.skipped += Int64(skipped)
        rest = UnsafeRawBufferPointer(rebasing: rest[skipped...])
        if wanted == 0 { continue }
        piece = UnsafeRawBufferPointer(rebasing: rest[..<wanted])
      }
      if current == nil { current = pool.buffer(at: offset, expecting: end.map { $0 - offset }) }
      guard let buffer = current else { return .abort }
      let taken = buffer.fill(from: piece)
      offset += Int64(taken)
      rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
      // All of a small file waits for its end, and then goes as one.
      if buffer.offset == 0, let end, end <= Int64(buffer.capacity) { continue }
      // Cut at multiples of the size, so that a resumed file has aligned writes again.
      if buffer.count == buffer.capacity || offset % Int64(BufferPool.bufferSize) == 0 { flush() }
    }
    return .taken
  }

  /// What lies behind the bytes that are compared; nil: they differ.
  private func compare(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard let count = comparison?.take(bytes) else {
      if comparison == nil { return bytes }
      differs = true
      skipped += Int64(bytes.count)
      return nil
    }
    if comparison?.isDone == true { comparison = nil }
    offset += Int64(count)
    skipped += Int64(count)
    return UnsafeRawBufferPointer(rebasing: bytes[count...])
  }

  /// How many of the next `count` bytes belong to nothing that is wanted, and how many after them do.
  private func nextWanted(of count: Int) -> (skipped: Int, wanted: Int) {
    while let range = wanted?.first, range.upperBound <= offset {
      // What follows lies elsewhere.
      flush()
      if wanted?.count == 1 { return (count, 0) }
      wanted?.removeFirst()
    }
    guard let range = wanted?.first else { return (count, 0) }
    let skipped = Int(min(max(0, range.lowerBound - offset), Int64(count)))
    return (skipped, Int(min(range.upperBound - offset - Int64(skipped), Int64(count - skipped))))
  }

  private var hasRoom: Bool {
    if waitsForTurn { return false }
    if let holdAt, offset >= holdAt { return false }
    // What is in the hand has room for one receive; a new buffer is needed only after that.
    return inFlight < Self.maxInFlight && !(pool.isExhausted && inFlight > 0)
  }

  func flush() {
    guard let buffer = current, buffer.count > 0 else { return }
    current = nil
    inFlight += 1
    handOver(self, buffer)
  }

  /// All that was received, where nothing of it was handed over and it is short; then nothing else gets it.
  func takeWhole(atMost limit: Int) -> TransferBuffer? {
    guard let buffer = current, inFlight == 0, buffer.offset == 0, Int64(buffer.count) == offset, buffer.count <= limit
    else { return nil }
    current = nil
    return buffer
  }

  /// Throws away what wasn't handed over, and says how many bytes that was.
  func dropCurrent() -> Int64 {
    guard let buffer = current else { return 0 }
    offset -= Int64(buffer.count)
    current = nil
    return Int64(buffer.count)
  }

  /// A buffer is on the file. Whether the transport should go on.
  func written() -> Bool {
    inFlight -= 1
    return takeResumption()
  }

  func takeResumption() -> Bool {
    guard isPaused, hasRoom else { return false }
    isPaused = false
    return true
  }
}
